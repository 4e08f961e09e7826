import Basics
package import JSONBytes

/// One event of the stream as a line, for `curl` with `Accept: text/plain` and for `ladle watch`.
package enum EventText {
    /// Longer texts are cut.
    private static let longest = 500

    /// - Parameter time: the event's time, formatted for the reader.
    package static func line(_ event: JSONValue, at time: String, _ style: TextStyle) -> String {
        let session = event["session"]?.string.map { style.dim(Printable.line($0) + " ") } ?? ""
        return "\(style.dim(time)) \(session)\(body(event, style))"
    }

    /// A message of the outbox, with the reason why it waits or what went wrong.
    package static func outbox(_ entry: JSONValue?, _ style: TextStyle) -> String {
        let reason = entry?["error"]?["detail"]?.string ?? entry?["blockedReason"]?.string
        return "outbox " + style.state(word(entry?["state"])) + " " + text(entry?["text"] ?? entry?["id"])
            + (reason.map { style.dim(" (" + Printable.line($0) + ")") } ?? "")
    }

    private static func body(_ event: JSONValue, _ style: TextStyle) -> String {
        let type = event["type"]?.string ?? ""
        switch type {
        case "hello":
            let state = event["link"]?["state"]?.string ?? "unknown"
            return "hello: ladle \(word(event["version"])), \(word(event["resume"])), link \(Printable.line(state))"
        case "link":
            let detail = event["link"]?["detail"]?.string.map { ": " + Printable.line($0) } ?? ""
            return "link " + style.state(word(event["link"]?["state"])) + detail
        case "summary": return style.bold(word(event["headline"]))
        case "run.started": return run(event) + style.bold("started")
        case "run.step": return run(event) + (event["step"].map { StepText.line($0, style) } ?? "")
        case "run.delta": return run(event) + "says: " + text(event["text"])
        case "run.ended", "run.corrected":
            let mark = type == "run.ended" ? "" : "corrected: "
            let end = RunEnd(event["run"] ?? event)
            let rest = shortened(end.errorText ?? end.text)
            return run(event) + mark + style.state(Printable.line(end.state)) + (rest.isEmpty ? "" : ": " + rest)
        case "message":
            let role = word(event["message"]?["role"])
            return style.bold(role == "user" ? "you" : role) + ": " + text(event["message"]?["text"])
        case "outbox": return outbox(event["entry"], style)
        case "approval":
            let approval = event["approval"]
            let who = approval?["decidedBy"]?.string.map { " by " + Printable.line($0) } ?? ""
            return "approval " + style.state(word(approval?["state"])) + who + ": " + text(approval?["title"])
                + style.dim(" (" + word(approval?["id"]) + ")")
        case "question":
            let question = event["question"]
            let who = question?["endedBy"]?.string.map { " by " + Printable.line($0) } ?? ""
            return "question " + style.state(word(question?["state"])) + who + ": "
                + text(question?["questions"]?[0]?["question"]) + style.dim(" (" + word(question?["id"]) + ")")
        case "notification":
            let one = event["notification"]
            let text = one?["text"].map { ": " + Self.text($0) } ?? ""
            return "notification " + style.bold(word(one?["title"])) + text
        case "pairing":
            let request = event["request"]
            let state = event["state"]?.string ?? ""
            let scopes = request?["scopes"]?.elements.compactMap(\.string).joined(separator: ", ") ?? ""
            let next = state == "waiting" ? style.dim(" (ladle clients approve \(word(request?["code"])))") : ""
            return "pairing \(style.state(Printable.line(state))): " + text(request?["name"]) + " from "
                + word(request?["from"]) + " asks for " + Printable.line(scopes) + next
        case "automation":
            let automation = event["automation"]
            let reason = word(event["reason"])
            let end = reason == "finished" ? automation?["last"] : nil
            let status = end.map { " " + style.state(word($0["status"])) } ?? ""
            let error = end?["error"]?.string.map { ": " + shortened($0) } ?? ""
            return "automation " + text(automation?["name"]) + " \(reason)\(status)\(error)"
                + style.dim(" (" + word(automation?["id"]) + ")")
        case "node":
            let node = event["node"]
            return "node " + text(node?["name"]) + " " + style.state(word(event["reason"]))
                + style.dim(" (" + word(node?["id"]) + ")")
        case "device":
            let request = event["device"]
            let name = request?["name"]?.string ?? request?["device"]?.string ?? ""
            let hint =
                event["reason"]?.string == "requested" ? request?["hint"]?.string.map { ": " + shortened($0) } : nil
            return "device " + Printable.line(name) + " " + style.state(word(event["reason"])) + (hint ?? "")
        case "identity", "profile": return "\(type) of \(word(event["agent"])) changed"
        case "usage": return "usage: " + UsageText.crossed(event)
        case "session": return session(event, style)
        case "reset":
            let oldest = event["oldest"]?.string.map { " before \(Printable.line($0))" } ?? ""
            return style.warning("reset: some events\(oldest) are missing; read everything again")
        case "shutdown": return style.warning("the stream ends: " + word(event["reason"]))
        default: return Printable.line(type)
        }
    }

    /// Says what is new: `session changed: model opus, not pinned`.
    private static func session(_ event: JSONValue, _ style: TextStyle) -> String {
        let info = event["sessionInfo"]
        var changes: [String] = []
        // Without them Ladle did not know the session before, so all that it has is news.
        let isNew = event["reason"]?.string == "changed" && event["changes"] == nil
        let names = isNew ? ["label", "model", "thinking"].filter { info?[$0]?.string != nil } : []
        for name in event["changes"]?.elements.compactMap(\.string) ?? names {
            let value = info?[name]
            let mark = value == nil ? "no " : value?.bool == false ? "not " : ""
            changes.append(mark + Printable.line(name) + (value?.string.map { " " + shortened($0) } ?? ""))
        }
        let news = changes.isEmpty ? "" : ": " + changes.joined(separator: ", ")
        let reason = isNew ? "seen for the first time" : style.state(word(event["reason"]))
        return "session \(reason)\(news)"
    }

    /// The end of a run's id, enough to tell runs apart; its beginning is a clock.
    private static func run(_ event: JSONValue) -> String {
        event["runId"]?.string.map { "run \(Printable.line(String($0.suffix(8)))) " } ?? "run "
    }

    private static func word(_ value: JSONValue?) -> String { Printable.line(value?.string ?? "?") }

    private static func text(_ value: JSONValue?) -> String { shortened(value?.string ?? "") }

    private static func shortened(_ text: String) -> String { Printable.line(String(text.prefix(longest))) }
}
