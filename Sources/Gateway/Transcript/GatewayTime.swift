package import Basics
package import JSONBytes

/// Times as gateways and transcripts write them: milliseconds, seconds, numeric text, ISO 8601.
package enum GatewayTime {
    package static func read(_ value: JSONValue?) -> Timestamp? {
        guard let value else { return nil }
        if let number = value.double { return time(number) }
        guard let text = value.string else { return nil }
        return Double(text).flatMap { time($0) } ?? Timestamp(rfc3339: text)
    }

    /// Milliseconds; nil if the value is not a duration.
    static func duration(_ value: JSONValue?) -> Int64? {
        value?.double.flatMap { $0 >= 0 && $0 < 1e12 ? Int64($0) : nil }
    }

    /// A number below 10^10 counts seconds. Times before 2000 and after 3000 are rejected as invalid.
    private static func time(_ number: Double) -> Timestamp? {
        let milliseconds = number < 1e10 ? number * 1000 : number
        guard milliseconds >= 946_684_800_000, milliseconds < 32_503_680_000_000 else { return nil }
        return Timestamp(milliseconds: Int64(milliseconds))
    }
}

extension JSONValue {
    /// A non-empty text, cut to the longest allowed id.
    var identifier: String? {
        guard let text = string, !text.isEmpty else { return nil }
        return text.cut(toBytes: GatewayLimits.identifierBytes)
    }

    /// A non-empty text no longer than the longest allowed id.
    var wholeIdentifier: String? {
        guard let text = string, !text.isEmpty, text.utf8.count <= GatewayLimits.identifierBytes else { return nil }
        return text
    }

    /// A text that people can read and repeat: it has no hidden character, and none that moves another.
    var visibleIdentifier: String? { wholeIdentifier.flatMap { Printable.escaped($0).text == $0 ? $0 : nil } }
}
