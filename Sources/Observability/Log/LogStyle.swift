package import Basics
import JSONBytes

/// The form of a log line. Each event is exactly one line, for any values.
package struct LogStyle: Sendable, Equatable {
    package var json: Bool
    /// Under journald: a `<N>` prefix, and no time, which the journal adds itself.
    package var journal: Bool

    /// A value longer than this is cut: a log is no place for documents.
    private static let longestValue = 1024

    package init(json: Bool = false, journal: Bool = false) {
        self.json = json
        self.journal = journal
    }

    /// Appends the line with its line feed. Secrets in string values are masked.
    package func append(
        _ level: LogLevel,
        _ event: String,
        _ fields: LogFields,
        at time: Timestamp,
        to line: inout [UInt8]
    ) {
        if journal {
            line.append(UInt8(ascii: "<"))
            line.append(decimal: level.rawValue)
            line.append(UInt8(ascii: ">"))
        }
        if json {
            appendJSON(level, event, fields, at: time, to: &line)
        } else {
            appendReadable(level, event, fields, at: time, to: &line)
        }
        line.append(0x0A)
    }

    private func appendReadable(
        _ level: LogLevel,
        _ event: String,
        _ fields: LogFields,
        at time: Timestamp,
        to line: inout [UInt8]
    ) {
        if !journal {
            time.append(to: &line)
            line.append(UInt8(ascii: " "))
            line.append(ascii: level.name)
            line.append(UInt8(ascii: " "))
        }
        LogText.append(event, to: &line)
        for (key, value) in fields where value != .absent {
            line.append(UInt8(ascii: " "))
            line.append(ascii: key)
            line.append(UInt8(ascii: "="))
            switch value {
            case .string(let text): LogText.append(Self.cut(Redaction.scrub(text)), to: &line)
            case .int(let number): line.append(decimal: number)
            case .double(let number): line.append(ascii: number.description)
            case .bool(let flag): line.append(ascii: flag ? "true" : "false")
            case .absent: continue
            }
        }
    }

    private func appendJSON(
        _ level: LogLevel,
        _ event: String,
        _ fields: LogFields,
        at time: Timestamp,
        to line: inout [UInt8]
    ) {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("at", time)
            writer.member("level", level.name)
            writer.member("event", event)
            for (key, value) in fields {
                switch value {
                case .string(let text): writer.member(key, Self.cut(Redaction.scrub(text)))
                case .int(let number): writer.member(key, number)
                case .double(let number): writer.member(key, number)
                case .bool(let flag): writer.member(key, flag)
                case .absent: continue
                }
            }
        }
        line.append(contentsOf: writer.bytes)
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longestValue else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: longestValue)
        while end.samePosition(in: text.unicodeScalars) == nil { text.utf8.formIndex(before: &end) }
        return text[..<end] + "…"
    }
}
