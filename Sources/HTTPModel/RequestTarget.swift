/// The reason why a request target is refused. Offsets count bytes from the start of the target.
package enum RequestTargetError: Error, Equatable, Sendable {
    /// The target is neither a path nor, for OPTIONS, `*`.
    case notOriginForm
    /// The target contains a control byte, blank, fragment, quote, backslash or byte from 0x80 on.
    case forbiddenByte(UInt8, offset: Int)
    /// A `%` is not followed by two hexadecimal digits.
    case badPercentEncoding(offset: Int)
    /// The decoded text of the part at this offset is not UTF-8.
    case notUTF8(offset: Int)
    case tooManyQueryItems(limit: Int)

    package var description: String {
        switch self {
        case .notOriginForm: "The request target is not a path."
        case .forbiddenByte(let byte, let offset):
            "The request target has the byte 0x\(String(byte, radix: 16, uppercase: true)) at offset \(offset)."
        case .badPercentEncoding(let offset): "The percent sign at offset \(offset) is not followed by two hex digits."
        case .notUTF8(let offset): "The text at offset \(offset) is not UTF-8 when decoded."
        case .tooManyQueryItems(let limit): "The query has more than \(limit) items."
        }
    }
}

/// Checks and splits request targets (RFC 9112 §3.2).
package enum RequestTarget {
    /// One bit per refused byte below 0x40: controls, blank, `"`, `#`, `<`, `>`.
    private static let refusedLow: UInt64 = 0x5000_000D_FFFF_FFFF
    /// The same from 0x40 to 0x7F: backslash and DEL. Browsers send `^ { | }` and the grave accent raw in queries.
    private static let refusedHigh: UInt64 = 0x8000_0000_1000_0000

    /// Whether a target may contain the byte.
    package static func allows(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask = byte < 0x40 ? refusedLow : refusedHigh
        return (mask &>> UInt64(byte)) & 1 == 0
    }

    /// Checks an origin-form target and returns the length of its path.
    package static func checkOriginForm(
        _ target: Span<UInt8>,
        asteriskAllowed: Bool
    ) throws(RequestTargetError) -> Int {
        guard target.count > 0, target.count <= HeaderFields.maxPartBytes else { throw .notOriginForm }
        if target[0] != 0x2F {
            guard asteriskAllowed, target.count == 1, target[0] == 0x2A else { throw .notOriginForm }
            return 1
        }
        if isPlain(target) { return target.count }
        var pathLength = target.count
        for index in target.indices {
            let byte = target[index]
            if byte == 0x3F, pathLength == target.count { pathLength = index }
            if !allows(byte) { throw .forbiddenByte(byte, offset: index) }
        }
        return pathLength
    }

    /// A fast check, eight bytes at a time, for the usual target: a path of letters, digits and `$%&'()*+,-./` only.
    /// Other targets are checked byte by byte.
    private static func isPlain(_ target: Span<UInt8>) -> Bool {
        guard target.count >= 8 else { return false }
        var offset = 0
        while true {
            let word = loadWord(target, at: offset)
            // Marks bytes below `$`, from DEL on, `:` to `?`, and the backslash; borrows can only mark too many bytes.
            let low = (word &- 0x2424_2424_2424_2424) | (word &+ 0x0101_0101_0101_0101) | word
            let punctuation = (word & 0xFEFE_FEFE_FEFE_FEFE) ^ 0x3C3C_3C3C_3C3C_3C3C
            let question = (word & 0xFEFE_FEFE_FEFE_FEFE) ^ 0x3E3E_3E3E_3E3E_3E3E
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let ones: UInt64 = 0x0101_0101_0101_0101
            let equal = (punctuation &- ones) | (question &- ones) | (backslash &- ones)
            if (low | equal) & 0x8080_8080_8080_8080 != 0 { return false }
            if offset &+ 8 == target.count { return true }
            offset = min(offset &+ 8, target.count &- 8)
        }
    }
}
