import Commands
import Configuration
import Discovery
import Gateway
import JSONBytes
import Upstream

/// `ladle discover`: gateways that announce themselves on the local network, or in a domain's DNS; with `--ladle` other Ladles.
enum DiscoverCommand {
    private static let seconds: Int64 = 3

    static func run(_ command: ParsedCommand, _ settings: Settings, width: Int) throws(CommandFailure) -> ExitCode {
        let wait = command["--timeout"].map { Int64($0) ?? 0 } ?? seconds
        guard (1...60).contains(wait) else {
            throw CommandFailure(UsageError("--timeout takes 1 to 60 seconds", command: command.path))
        }
        var servers = DNSServer.system()
        if let text = command["--server"] {
            guard let server = DNSServer(text), command["--domain"] != nil else {
                throw CommandFailure(
                    UsageError(
                        "--server is the address of a name server, ADDRESS or ADDRESS:PORT, to ask about a --domain",
                        command: command.path
                    )
                )
            }
            servers = [server]
        }
        let service: AnnouncedService = command.has("--ladle") ? .ladle : .gateway
        let found: [DiscoveredGateway]
        do {
            if let domain = command["--domain"] {
                found = try DomainBrowser(domain: domain, servers: servers).browse(
                    for: service,
                    milliseconds: wait * 1000
                )
            } else {
                found = MulticastBrowser().browse(for: service, milliseconds: wait * 1000)
            }
        } catch {
            throw CommandFailure(.unavailable, "DISCOVERY_FAILED", "\(error)")
        }
        let report = DiscoveryReport(found, of: service, pinned: service == .gateway ? pinned(settings) : nil)
        if Program.json(command) {
            Program.say { report.write(to: &$0) }
        } else {
            Console.put(report.table(width: width))
        }
        return .ok
    }

    private static func pinned(_ settings: Settings) -> DiscoveryReport.Pinned? {
        guard let text = settings.text(.gatewayURL), let pin = settings.text(.gatewayPin),
            let fingerprint = CertificateFingerprint(pin), let url = try? GatewayURL(text, pin: pin)
        else { return nil }
        return DiscoveryReport.Pinned(host: url.host, port: url.port, fingerprint: fingerprint)
    }
}
