import Basics

/// How much of the agent's replies goes to the broker (`mqtt.text`).
package enum BrokerText: String, Sendable, CaseIterable {
    case full, short, none

    /// One line of at most 254 Unicode scalars, as Home Assistant counts a state. A cut one ends in an ellipsis.
    package static func short(_ text: String, limit: Int = BrokerLimits.shortScalars) -> String {
        // Blanks and removed characters make the line shorter than its source, so it is cut later.
        let most = limit * 4
        let start = text.unicodeScalars.prefix(most)
        let isWhole = start.endIndex == text.unicodeScalars.endIndex
        let line = Printable.line(String(String.UnicodeScalarView(start))).trimmingBlanks()
        guard !isWhole || line.unicodeScalars.count > limit else { return line }
        return String(String.UnicodeScalarView(line.unicodeScalars.prefix(limit - 1))) + "…"
    }

    /// The beginning of a text that takes at most `limit` bytes as JSON, cut between scalars, without control
    /// characters.
    static func beginning(_ text: String, jsonBytes limit: Int) -> (text: String, isCut: Bool) {
        let start = text.unicodeScalars.prefix(limit)
        let clean = Printable.document(String(String.UnicodeScalarView(start)))
        var kept = String.UnicodeScalarView()
        var size = 0
        for scalar in clean.unicodeScalars {
            size += jsonBytes(scalar)
            guard size <= limit else { return (String(kept), true) }
            kept.append(scalar)
        }
        return (String(kept), start.endIndex != text.unicodeScalars.endIndex)
    }

    /// The most bytes that a scalar takes in a JSON string.
    private static func jsonBytes(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x22, 0x5C, 0x09, 0x0A, 0x0D: 2
        case 0..<0x20, 0x7F...0x9F, 0x61C, 0x2000...0x206F: 6
        default: UTF8.width(scalar)
        }
    }
}
