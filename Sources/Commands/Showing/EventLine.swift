import Basics
import JSONBytes

/// One event of the stream as a line for people.
enum EventLine {
    /// The JSON of a `data:` line. Ladle writes an event's data as one line.
    static func event(fromSSE line: [UInt8]) -> JSONDocument? {
        let prefix = Array("data:".utf8)
        guard line.starts(with: prefix) else { return nil }
        return try? JSONDocument(parsing: Array(line.dropFirst(prefix.count)), limits: .gateway)
    }

    /// Nil for events that tell a person nothing.
    static func text(_ event: JSONValue, _ style: Style, _ time: LocalTime) -> String? {
        guard let body = body(event, style) else { return nil }
        let session = event["session"]?.string.map { style.dim(Printable.line($0) + " ") } ?? ""
        return "\(style.dim(time.short(event["at"]?.string))) \(session)\(body)"
    }

    private static func body(_ event: JSONValue, _ style: Style) -> String? {
        let type = event["type"]?.string ?? ""
        switch type {
        case "run.started": return style.bold("run started")
        case "run.step": return event["step"].map { StepLine.text($0, style) }
        case "run.ended":
            guard let run = event["run"] else { return nil }
            let end = RunEnd(run)
            let rest = end.errorText ?? end.text
            return "run " + style.state(Printable.line(end.state)) + (rest.isEmpty ? "" : ": " + Printable.line(rest))
        case "message":
            // One that is on its way comes again when it has arrived; its entry is told meanwhile.
            guard let message = event["message"], message["state"]?.string != "sending" else { return nil }
            let role = message["role"]?.string ?? "?"
            return style.bold(role == "user" ? "you" : Printable.line(role)) + ": "
                + Printable.line(message["text"]?.string ?? "")
        case "outbox":
            guard let entry = event["entry"] else { return nil }
            let error = entry["error"]?["detail"]?.string ?? entry["blockedReason"]?.string
            return "outbox " + style.state(Printable.line(entry["state"]?.string ?? "")) + " "
                + Printable.line(entry["text"]?.string ?? entry["id"]?.string ?? "")
                + (error.map { style.dim(" (" + Printable.line($0) + ")") } ?? "")
        case "link":
            let link = event["link"]
            let detail = link?["detail"]?.string.map { ": " + Printable.line($0) } ?? ""
            return "link " + style.state(Printable.line(link?["state"]?.string ?? "")) + detail
        case "identity", "profile":
            return "\(type) of \(Printable.line(event["agent"]?.string ?? "the agent")) changed"
        case "summary": return event["headline"]?.string.map { style.bold(Printable.line($0)) }
        case "reset": return style.warning("some events are missing: what is shown before this may be old")
        case "shutdown":
            return style.warning("the stream ends: " + Printable.line(event["reason"]?.string ?? "the api stops"))
        case "hello", "heartbeat", "run.delta": return nil
        default: return Printable.line(type)
        }
    }
}
