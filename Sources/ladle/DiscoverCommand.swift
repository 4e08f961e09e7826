import Commands
import Configuration
import Discovery
import JSONBytes
import Upstream

/// `ladle discover`: gateways that announce themselves on the local network, or in a domain's DNS.
enum DiscoverCommand {
    private static let seconds: Int64 = 3

    static func run(_ command: ParsedCommand, _ settings: Settings) -> ExitStatus {
        let wait = command["--timeout"].flatMap(Int64.init) ?? seconds
        guard (1...60).contains(wait) else {
            Console.warn("--timeout is a number of seconds from 1 to 60")
            return .usage
        }
        var servers = DNSServer.system()
        if let text = command["--server"] {
            guard let server = DNSServer(text), command["--domain"] != nil else {
                Console.warn(
                    "--server is the address of a name server, ADDRESS or ADDRESS:PORT, to ask about a --domain"
                )
                return .usage
            }
            servers = [server]
        }
        let found: [DiscoveredGateway]
        do {
            if let domain = command["--domain"] {
                found = try DomainBrowser(domain: domain, servers: servers).browse(milliseconds: wait * 1000)
            } else {
                found = MulticastBrowser().browse(milliseconds: wait * 1000)
            }
        } catch {
            Console.warn("\(error)")
            return .unavailable
        }
        let report = DiscoveryReport(found, pinned: pinned(settings))
        if command.has("--json") {
            var writer = JSONWriter()
            report.write(to: &writer)
            Console.say(String(decoding: writer.bytes, as: UTF8.self))
        } else {
            Console.say(found.isEmpty ? "no gateway announces itself here" : report.table())
        }
        return .ok
    }

    private static func pinned(_ settings: Settings) -> DiscoveryReport.Pinned? {
        guard let text = settings.text(.gatewayURL), let pin = settings.text(.gatewayPin),
            let fingerprint = Fingerprint(pin), let url = try? GatewayURL(text, pin: pin)
        else { return nil }
        return DiscoveryReport.Pinned(host: url.host, port: url.port, fingerprint: fingerprint)
    }
}
