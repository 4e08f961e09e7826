import Basics
import JSONBytes

enum StatusCommand {
    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if invocation.command.has("--ready") {
            if let answer = try invocation.value(.get("/readyz")) { invocation.print(text(answer["status"])) }
            return .ok
        }
        guard let status = try invocation.value(.get("/v1/status")) else { return .ok }
        let style = invocation.style
        let time = LocalTime(invocation.io)
        var rows: [(String, String)] = []
        let demo = status["demo"]?.bool == true ? ", demo" : ""
        rows.append(("Ladle", "\(text(status["version"])) since \(time.short(status["startedAt"]?.string))\(demo)"))
        let link = status["link"]
        let state = text(link?["state"])
        rows.append(("Link", style.state(state) + " since \(time.short(link?["since"]?.string))"))
        if let detail = link?["detail"]?.string, state != "online" || link?["code"] != nil {
            rows.append(("", Printable.line(detail) + (link?["code"]?.string.map { " (\(Printable.line($0)))" } ?? "")))
        }
        if let hint = link?["hint"]?.string { rows.append(("", style.bold("→ ") + Printable.line(hint))) }
        if let retry = link?["retryAt"]?.string { rows.append(("", "tries again \(time.relative(retry))")) }
        if let gateway = gateway(link) { rows.append(("Gateway", gateway)) }
        if let scopes = link?["scopes"], scopes.count > 0 {
            rows.append(("Scopes", Printable.line(scopes.elements.compactMap(\.string).joined(separator: ", "))))
        }
        rows.append(("Outbox", outbox(status["outbox"], style)))
        if let fault = status["outbox"]?["fault"]?.string {
            rows.append(("", style.bad("nothing is sent: what waits could not be read: ") + Printable.line(fault)))
        }
        rows.append(("Runs", "\(status["runs"]?["active"]?.int ?? 0) active"))
        if let events = status["events"] {
            rows.append(("Events", "\(events["subscribers"]?.int ?? 0) subscribers, newest \(text(events["last"]))"))
        }
        for (name, value) in rows { invocation.print(style.dim(DisplayWidth.padded(name, 8)) + value) }
        return .ok
    }

    private static func gateway(_ link: JSONValue?) -> String? {
        var words: [String] = []
        if let url = link?["url"]?.string { words.append(url) }
        if let version = link?["gateway"]?["version"]?.string { words.append("version \(version)") }
        if let number = link?["protocol"]?.int { words.append("protocol \(number)") }
        return words.isEmpty ? nil : Printable.line(words.joined(separator: ", "))
    }

    private static func outbox(_ value: JSONValue?, _ style: Style) -> String {
        let pending = value?["pending"]?.int ?? 0
        let failed = value?["failed"]?.int ?? 0
        let unconfirmed = value?["unconfirmed"]?.int ?? 0
        var text = "\(pending) pending"
        if unconfirmed > 0 { text += ", " + style.warning("\(unconfirmed) unconfirmed") }
        if failed > 0 { text += ", " + style.bad("\(failed) failed") }
        if pending > 0, let age = value?["oldestAgeMs"]?.int { text += ", oldest \(LocalTime.span(age))" }
        return text
    }

    private static func text(_ value: JSONValue?) -> String {
        guard let value else { return "?" }
        return Printable.line(value.string ?? value.int.map(String.init) ?? "?")
    }
}
