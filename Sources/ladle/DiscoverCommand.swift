import Commands
import Discovery

/// `ladle discover`: gateways that announce themselves on the local network, or in a domain's DNS.
enum DiscoverCommand {
    private static let seconds: Int64 = 3

    static func run(_ command: ParsedCommand, width: Int) throws(CommandFailure) -> ExitCode {
        let wait = command["--timeout"].map { Int64($0) ?? 0 } ?? seconds
        guard (1...60).contains(wait) else {
            throw CommandFailure(UsageError("--timeout takes 1 to 60 seconds", command: command.path))
        }
        let found: [DiscoveredGateway]
        do {
            if let domain = command["--domain"] {
                found = try DomainBrowser(domain: domain).browse(milliseconds: wait * 1000)
            } else {
                found = MulticastBrowser().browse(milliseconds: wait * 1000)
            }
        } catch {
            throw CommandFailure(.unavailable, "DISCOVERY_FAILED", "\(error)")
        }
        let report = DiscoveryReport(found)
        if Program.json(command) {
            Program.say { report.write(to: &$0) }
        } else {
            Console.put(report.table(width: width))
        }
        return .ok
    }
}
