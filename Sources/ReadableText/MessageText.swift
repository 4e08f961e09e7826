import Basics
package import JSONBytes

/// One message of a conversation as lines.
package enum MessageText {
    /// - Parameter time: the message's time, formatted for the reader.
    package static func lines(_ message: JSONValue, at time: String, _ style: TextStyle) -> [String] {
        let role = message["role"]?.string ?? "?"
        let name = style.bold(role == "user" ? "you" : Printable.line(role))
        let state = message["state"]?.string.flatMap { $0 == "sent" ? nil : " (\(Printable.line($0)))" } ?? ""
        let steps = message["steps"]?.count ?? 0
        let note = state + (steps > 0 ? style.dim(steps == 1 ? " 1 step" : " \(steps) steps") : "")
        var lines = ["\(style.dim(time)) \(name)\(note)"]
        if let text = message["text"]?.string, !text.isEmpty {
            lines += text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
                "  " + Printable.line(String($0))
            }
        }
        if let attachments = message["attachments"]?.elements {
            lines += attachments.map {
                style.dim("  [\(Printable.line($0["name"]?.string ?? "attachment"))]")
            }
        }
        if let error = message["error"] {
            let detail = error.string ?? error["detail"]?.string ?? error["code"]?.string ?? "failed"
            lines.append(style.bad("  error: " + Printable.line(detail)))
        }
        return lines
    }
}
