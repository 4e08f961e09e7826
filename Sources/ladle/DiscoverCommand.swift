import Commands
import Discovery
import JSONBytes

/// `ladle discover`: gateways that announce themselves on the local network, or in a domain's DNS.
enum DiscoverCommand {
    private static let seconds: Int64 = 3

    static func run(_ command: ParsedCommand) -> ExitStatus {
        let wait = command["--timeout"].flatMap(Int64.init) ?? seconds
        guard (1...60).contains(wait) else {
            Console.warn("--timeout is a number of seconds from 1 to 60")
            return .usage
        }
        let found: [DiscoveredGateway]
        do {
            if let domain = command["--domain"] {
                found = try DomainBrowser(domain: domain).browse(milliseconds: wait * 1000)
            } else {
                found = MulticastBrowser().browse(milliseconds: wait * 1000)
            }
        } catch {
            Console.warn("\(error)")
            return .unavailable
        }
        let report = DiscoveryReport(found)
        if command.has("--json") {
            var writer = JSONWriter()
            report.write(to: &writer)
            Console.say(String(decoding: writer.bytes, as: UTF8.self))
        } else {
            Console.say(found.isEmpty ? "no gateway announces itself here" : report.table())
        }
        return .ok
    }
}
