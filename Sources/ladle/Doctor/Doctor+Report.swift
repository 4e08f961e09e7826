import Basics
import Commands
import JSONBytes
import POSIX

/// `ladle doctor --report`: what the server saw of the gateway, in names and numbers alone. It is meant to be sent to the people who
/// maintain Ladle, so it has no address, no session, no text and no secret.
extension Doctor {
    func report(json: Bool) -> ExitCode {
        guard let path = stateDirectory else {
            let fault = Finding.wrong("state", "there is no home directory", "ladle serve --state DIR", .configuration)
            return refuse(fault, json)
        }
        let socket = socket ?? path + "/ladle.sock"
        let report: JSONValue
        do throws(ClientError) {
            report = try DaemonProbe.gatewayReport(socket: socket, version: Version.text)
        } catch {
            return refuse(HostCheck.daemon(error, socket: socket), json)
        }
        guard !json else {
            Console.say(String(decoding: report.raw, as: UTF8.self))
            return .ok
        }
        for line in Self.lines(of: report) { Console.say(line) }
        return .ok
    }

    private func refuse(_ fault: Finding, _ json: Bool) -> ExitCode {
        let fault = fault.placed(as: command)
        if json {
            Program.say { fault.write(to: &$0) }
        } else {
            let io = ProcessIO()
            Console.say(io.line(isFine: false, fault.check, fault.detail, hint: fault.hint))
        }
        return fault.exit
    }

    private static func lines(of report: JSONValue) -> [String] {
        let word = { (name: String) in report[name]?.string ?? "unknown" }
        let words = { (name: String) in report[name]?.elements.compactMap(\.string) ?? [] }
        var lines = ["ladle     \(Version.text) on \(system)"]
        if let version = report["protocol"]?.int {
            let isTried = report["tried"]?.bool ?? true
            let name = "\(word("version")), protocol \(version), treated as \(word("conduct"))"
            lines.append("gateway   \(name)\(isTried ? "" : " (read, not run)")")
        }
        lines.append(
            "link      \(([word("state")] + [report["code"]?.string].compactMap(\.self)).joined(separator: " "))"
        )
        lines.append("scopes    \(words("scopes").joined(separator: " "))")
        if report["namesProcess"]?.bool == true { lines.append("process   named in the hello") }
        for name in ["capabilities", "methods"] where report[name] != nil {
            lines.append("\(name) (\(words(name).count))")
            lines += words(name).map { "  \($0)" }
        }
        lines.append("answers")
        for answer in report["answers"]?.elements.map({ $0 }) ?? [] {
            let count = answer["count"]?.int ?? 0
            lines.append("  \(answer["method"]?.string ?? "") \(answer["outcome"]?.string ?? ""): \(count)")
        }
        lines.append("events")
        for event in report["events"]?.elements.map({ $0 }) ?? [] {
            let mark = event["read"]?.bool == false ? " (not read)" : ""
            lines.append("  \(event["event"]?.string ?? "")\(mark): \(event["count"]?.int ?? 0)")
        }
        return lines.map(Printable.line)
    }

    private static var system: String {
        #if os(Linux)
        let name = "Linux"
        #else
        let name = "macOS"
        #endif
        #if arch(arm64)
        return "\(name) arm64"
        #else
        return "\(name) x86_64"
        #endif
    }
}
