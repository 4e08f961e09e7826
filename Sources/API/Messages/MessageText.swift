import Basics
import Runs

/// A conversation for reading in a terminal.
enum MessageText {
    static func of(_ messages: [ChatMessage], asOf: Timestamp?) -> String {
        var lines: [String] = []
        if let asOf { lines.append("# as of \(asOf.rfc3339): the gateway is away") }
        for message in messages {
            let state = message.state == .sent ? "" : " (\(message.state.rawValue))"
            let name = message.role == .user ? "you" : message.role.rawValue
            lines.append("\(message.at.rfc3339) \(name)\(state)")
            for line in message.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            where !message.text.isEmpty {
                lines.append("  \(line)")
            }
            for attachment in message.attachments { lines.append("  [\(attachment.name ?? "attachment")]") }
            if let error = message.error { lines.append("  error: \(error)") }
        }
        return lines.isEmpty ? "no messages\n" : lines.map(Printable.line).joined(separator: "\n") + "\n"
    }
}
