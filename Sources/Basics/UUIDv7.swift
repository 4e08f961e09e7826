/// RFC 9562 §5.7 identifiers: 48 bits of milliseconds, then random bits. They sort by creation time.
package enum UUIDv7 {
    /// Gateways since June mask `fc-` and ten letters or digits as a provider's key, even in transcripts: a message
    /// whose id has a fourth group ending like that would not be found again.
    private static let likeSecret: UInt8 = 0xFC

    /// `random` gives ten bytes or more; missing ones count as zero.
    package static func make(milliseconds: Int64, random: [UInt8]) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let time = UInt64(bitPattern: milliseconds)
        for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: time >> UInt64(40 - 8 * index)) }
        for (index, byte) in random.prefix(10).enumerated() { bytes[6 + index] = byte }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        if bytes[9] == likeSecret { bytes[9] ^= 1 }
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            Hex.append(byte, to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// True for any UUID in its canonical lower- or upper-case form.
    package static func isWellFormed(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        for (index, byte) in bytes.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return false }
            } else {
                guard Hex.value(of: byte) != nil else { return false }
            }
        }
        return true
    }

    /// True for a UUID of this version, as the ids of our messages are. A gateway's own ids are random ones.
    package static func isOne(_ text: String) -> Bool {
        isWellFormed(text) && text.utf8[text.utf8.index(text.startIndex, offsetBy: 14)] == UInt8(ascii: "7")
    }
}
