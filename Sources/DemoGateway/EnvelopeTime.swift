import Basics

/// Times as the gateway writes them into texts for its agents.
enum EnvelopeTime {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// `2026-11-22 10:18:45`
    static func seconds(_ ms: Int64) -> String {
        let text = Timestamp(milliseconds: ms).rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8))"
    }

    static func minutes(_ ms: Int64) -> String { String(seconds(ms).dropLast(3)) }

    static func weekday(_ ms: Int64) -> String { weekdays[Int(ms / 86_400_000) % 7] }
}
