import Basics

/// The pieces of an exposition line.
enum MetricsText {
    static func sample(_ name: String, _ suffix: String, _ labels: [UInt8], _ value: String, to text: inout [UInt8]) {
        text.append(ascii: name)
        text.append(ascii: suffix)
        if !labels.isEmpty {
            text.append(UInt8(ascii: "{"))
            text.append(contentsOf: labels)
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: " "))
        text.append(ascii: value)
        text.append(0x0A)
    }

    static func number(_ value: UInt64) -> String { String(value) }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value.description
    }

    static func labels(_ names: [String], _ values: [String]) -> [UInt8] {
        var text: [UInt8] = []
        for (name, value) in zip(names, values) {
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            text.append(ascii: name)
            text.append(ascii: "=\"")
            escape(value, quotes: true, to: &text)
            text.append(UInt8(ascii: "\""))
        }
        return text
    }

    /// Backslash and line feed everywhere, the quotation mark in labels and in OpenMetrics' help.
    static func escape(_ value: String, quotes: Bool, to text: inout [UInt8]) {
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): text.append(ascii: "\\\\")
            case 0x0A: text.append(ascii: "\\n")
            case UInt8(ascii: "\"") where quotes: text.append(ascii: "\\\"")
            default: text.append(byte)
            }
        }
    }
}
