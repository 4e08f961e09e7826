import Basics

/// One level of a topic that stands for a text from outside, such as a session's key. Percent-encoding keeps the level
/// legal: no wildcard, no slash, and no character for which brokers close the connection (MQTT 5, section 1.5.4).
package enum TopicLevel {
    /// Stands before the hash of a text that is too long for a level. An escape never looks like this.
    private static let hashMark = "%~"
    private static let hashedBytes = 34

    /// The text as a level of at most `limit` bytes. A longer one ends in a hash of the whole text, and so does an
    /// empty text; these cannot be read back.
    package static func escape(_ text: String, limit: Int = BrokerLimits.topicBytes) -> String {
        var level: [UInt8] = []
        var isFirst = true
        // The last end of an escaped character that leaves room for a hash.
        var cut = 0
        for scalar in text.unicodeScalars {
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                if !isPlain(scalar) || (isFirst && scalar == "$") {
                    level.append(UInt8(ascii: "%"))
                    level.append(ascii: upperHex(byte))
                } else {
                    level.append(byte)
                }
            }
            isFirst = false
            if level.count + hashedBytes <= limit { cut = level.count }
            if level.count > limit { break }
        }
        if !level.isEmpty, level.count <= limit { return String(decoding: level, as: UTF8.self) }
        return String(decoding: level[..<cut], as: UTF8.self) + hashMark + hash(text)
    }

    /// The text behind a level; nil if the level is empty, hashed or malformed.
    package static func unescape(_ level: some StringProtocol) -> String? {
        let source = Array(level.utf8)
        guard !source.isEmpty else { return nil }
        var bytes: [UInt8] = []
        var place = 0
        while place < source.count {
            if source[place] == UInt8(ascii: "%") {
                guard place + 2 < source.count, let high = Hex.value(of: source[place + 1]),
                    let low = Hex.value(of: source[place + 2])
                else { return nil }
                bytes.append(high << 4 | low)
                place += 3
            } else {
                bytes.append(source[place])
                place += 1
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whether brokers take the character in a topic name, and no rule of topics gives it a meaning.
    static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "%", "+", "#", "/": false
        default: isAllowed(scalar)
        }
    }

    /// False for controls and for the code points that Unicode reserves as no characters.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0xFDD0...0xFDEF: false
        default: scalar.value & 0xFFFE != 0xFFFE
        }
    }

    private static func hash(_ text: String) -> String {
        FNV1a.name(text.utf8) + FNV1a.name(Array(text.utf8.reversed()) + Array("ladle".utf8))
    }

    private static func upperHex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.utf8.count == 1 ? "0" + digits : digits
    }
}
