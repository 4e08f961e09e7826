import API
import Basics
import Commands
import Configuration
import JSONBytes
import Ledger
import Outbox
import POSIX
import Service

/// `ladle doctor`: checks for common faults and prints for each the command that repairs it. It asks the running
/// server; without one it checks by itself and also connects to the gateway as `serve` would.
struct Doctor {
    let settings: Settings
    let problems: [ConfigurationProblem]
    let places: SettingsPlaces
    /// The control socket that the user named; by default the one in the state directory.
    let socket: String?
    /// The command line, whose options are part of the commands that are printed.
    let command: ParsedCommand

    /// Looks 60 times, every 100 ms: six seconds in all, the longest time that a check without the server takes.
    private static let looks = 60
    private static let betweenLooks = 100

    func run(json: Bool) async -> ExitCode {
        let start = problems.isEmpty ? ServeConfiguration.problem(settings, places: places) : nil
        var findings = configuration(problems + [start].compactMap(\.self)) + nodes()
        if let path = stateDirectory {
            let socket = socket ?? path + "/ladle.sock"
            if let following = DaemonProbe.following(socket: socket, version: Version.text) {
                findings += FollowCheck.findings(following)
                findings += HostCheck.state(path, data: path, isServing: true)
                findings += HostCheck.exposure(settings, state: path)
                return end(findings, json)
            }
            do throws(ClientError) {
                let status = try settledStatus(socket)
                let version = status["version"]?.string ?? ""
                findings.append(.fine("daemon", "ladle \(version) is serving"))
                findings += HostCheck.state(path, data: path, isServing: true)
                findings += LinkCheck.findings(status["link"])
                findings += connections(status["connections"])
                let database = path + (status["demo"]?.bool == true ? "/demo" : "")
                findings += outbox(status["outbox"], database: database)
                findings += runs(status["runs"], database: database)
                findings += notifications(status["notifications"])
                findings += await BrokerCheck.findings(status["mqtt"], settings, places)
                findings += pairing(status["pairing"], isDemo: status["demo"]?.bool == true)
                let own = TLSSettings.files(in: database).own.path
                findings += CertificateCheck.findings(status["tls"], isServing: true, own: own, now: Self.now)
                findings += HostCheck.exposure(settings, listeners: status["listeners"])
            } catch {
                let data = ServeConfiguration.dataDirectory(path, settings)
                findings += HostCheck.state(path, data: data, isServing: false)
                findings += [path, path + "/demo"].compactMap(HostCheck.setAside)
                if HostCheck.placeFault(path) == nil { findings.append(HostCheck.daemon(error, socket: socket)) }
                findings += await LinkCheck.ownLook(settings, places, state: path)
                if start == nil { findings += await BrokerCheck.roundTrip(settings, places) }
                findings += HostCheck.ports(settings)
                findings += connections(ConnectionLimit(settings))
                findings += await CertificateCheck.ownLook(settings, places, data: data, now: Self.now)
                // Listeners that are refused are open to nobody.
                if start == nil { findings += HostCheck.exposure(settings, state: path) }
            }
            findings += DatabaseCheck.findings(settings)
            findings += HostCheck.advertising(settings, Program.environment)
        } else {
            findings.append(.wrong("state", "there is no home directory", "ladle serve --state DIR", .configuration))
        }
        return end(findings, json)
    }

    private func end(_ findings: [Finding], _ json: Bool) -> ExitCode {
        report(findings.map { $0.placed(as: command) }, json)
        return findings.first { !$0.isFine }?.exit ?? .ok
    }

    private static var now: Timestamp { Timestamp(milliseconds: HostClock.wallMilliseconds) }

    /// If the user named a control socket, the state directory is the one with that socket.
    var stateDirectory: String? { socket.map(FileSystem.folder) ?? places.stateDirectory(settings) }

    /// Waits while the link is in its first handshake.
    private func settledStatus(_ socket: String) throws(ClientError) -> JSONValue {
        var status = try DaemonProbe.status(socket: socket, version: Version.text)
        for _ in 0..<Self.looks where status["link"]?["state"]?.string == "connecting" {
            ProcessIO().sleep(milliseconds: Self.betweenLooks)
            status = try DaemonProbe.status(socket: socket, version: Version.text)
        }
        return status
    }

    private func configuration(_ problems: [ConfigurationProblem]) -> [Finding] {
        let wrong = problems.map {
            Finding.wrong(
                "configuration",
                "\($0.origin): \($0.message)",
                $0.hint ?? "ladle config reference",
                .configuration
            )
        }
        return wrong.isEmpty ? [.fine("configuration", "every value is valid")] : wrong
    }

    private func connections(_ value: JSONValue?) -> [Finding] {
        guard let limit = value?["limit"]?.int, let configured = value?["configured"]?.int else { return [] }
        return connections(ConnectionLimit(configured: Int(configured), possible: Int(limit)))
    }

    /// Fewer connections than configured are a fault only if the number is configured: the default is more than most
    /// people need, so the number in force is all there is to say.
    private func connections(_ limit: ConnectionLimit) -> [Finding] {
        guard settings.isSet(.limitsConnections), let shortage = limit.shortage else {
            return [.fine("connections", "at most \(limit.inForce) connections")]
        }
        return [.wrong("connections", shortage, limit.remedy, .configuration)]
    }

    private func outbox(_ outbox: JSONValue?, database: String) -> [Finding] {
        if let closed = outbox?["closed"]?.string {
            return [
                HostCheck.setAside(in: database)
                    ?? .wrong(
                        "outbox",
                        "no message is accepted: \(closed)",
                        "df -h \(Printable.argument(database)); mount",
                        .temporary
                    )
            ]
        }
        if let fault = outbox?["fault"]?.string {
            let text = "nothing is sent, because the saved entries could not be read: \(fault)"
            return [.wrong("outbox", text, HostCheck.integrityCheck(in: database), .temporary)]
        }
        let stuck = (outbox?["failed"]?.int ?? 0) + (outbox?["unconfirmed"]?.int ?? 0)
        let undecided =
            stuck == 0 ? nil : "\(stuck == 1 ? "1 message waits" : "\(stuck) messages wait") for a decision of yours"
        if let refused = outbox?["refused"]?.int {
            let text =
                "the gateway refuses to run \(refused == 1 ? "1 message" : "\(refused) messages"), as "
                + "\(GatewayProfile.refusingRelease) does after a restart; a message to a new session cures it"
            let further = undecided.map { "; \($0): ladle outbox list" } ?? ""
            return [.wrong("outbox", text + further, OutboxFault.sessionConflictCure, .temporary)]
        }
        return undecided.map { [.wrong("outbox", $0, "ladle outbox list")] } ?? []
    }

    private func runs(_ runs: JSONValue?, database: String) -> [Finding] {
        guard let fault = runs?["fault"]?.string else { return [] }
        let text = "the link stays closed, because the saved runs could not be read: \(fault)"
        return [.wrong("runs", text, HostCheck.integrityCheck(in: database), .temporary)]
    }

    /// Checks which node commands the setting allows beside the harmless ones.
    private func nodes() -> [Finding] {
        guard let named = try? ServeConfiguration.nodePolicy(settings).named, !named.isEmpty else { return [] }
        return [.fine("nodes", "nodes.allow lets through \(named.joined(separator: ", "))")]
    }

    private func pairing(_ value: JSONValue?, isDemo: Bool) -> [Finding] {
        guard let count = value?["pending"]?.int, count > 0 else { return [] }
        let who = count == 1 ? "1 device waits" : "\(count) devices wait"
        let next = isDemo ? " (played by the demo; nothing to do)" : ": openclaw devices list, on its host"
        return [.fine("pairing", "\(who) for the gateway's approval\(next)")]
    }

    private func notifications(_ value: JSONValue?) -> [Finding] {
        guard let value, (value["sinks"]?.int ?? 0) > 0 else { return [] }
        let names = { (member: String) in value[member]?.elements.compactMap(\.string).joined(separator: ", ") ?? "" }
        let (disabled, failing) = (names("disabled"), names("failing"))
        if !disabled.isEmpty {
            return [.wrong("notifications", "disabled by their failures: \(disabled)", "ladle notify list --sinks")]
        }
        if !failing.isEmpty {
            return [.wrong("notifications", "not reached: \(failing)", "ladle notify list --sinks", .temporary)]
        }
        return [.fine("notifications", "\(value["sinks"]?.int ?? 0) sinks, none failing")]
    }

    private func report(_ findings: [Finding], _ json: Bool) {
        if json {
            return Program.say { writer in
                writer.object { object in
                    object.member("ok", findings.allSatisfy(\.isFine))
                    object.array("checks", of: findings)
                }
            }
        }
        let io = ProcessIO()
        for finding in findings {
            Console.say(io.line(isFine: finding.isFine, finding.check, finding.detail, hint: finding.hint))
        }
    }
}
