import Basics

/// The written form of a token: `ldl_`, 43 letters and digits (256 bits), and 6 check digits, so that secret scanners
/// find it and a truncated copy is recognized offline.
package enum TokenText {
    package static let prefix = "ldl_"
    static let randomLength = 43
    package static let checkLength = 6
    package static let length = 4 + randomLength + checkLength
    /// The part that lists and logs may show: the prefix and 6 of the 43 characters.
    static let shownLength = 10

    static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    package static func make() -> Secret {
        var text = Array(prefix.utf8)
        text += SecureCode.letters(from: alphabet, count: randomLength)
        text += check(of: text[...])
        return Secret(String(decoding: text, as: UTF8.self))
    }

    /// True if form and check digits are right. The token may not exist.
    package static func isWellFormed(_ text: [UInt8]) -> Bool {
        guard text.count == length, text.starts(with: prefix.utf8) else { return false }
        return Array(text.suffix(checkLength)) == check(of: text.dropLast(checkLength))
    }

    /// Masks input that may be a secret by mistake, such as a token in place of its id.
    package static func masked(_ text: String) -> String {
        [prefix, PairingRequests.prefix, TicketStore.prefix, LinkSecret.prefix].contains { text.hasPrefix($0) }
            ? text.prefix(shownLength) + "…" : text
    }

    package static func shown(_ text: Secret) -> String { String(text.reveal().prefix(shownLength)) }

    /// CRC-32 in six digits of base 62.
    private static func check(of text: ArraySlice<UInt8>) -> [UInt8] {
        var rest = CRC32.of(text)
        var digits = [UInt8](repeating: 0, count: checkLength)
        for index in digits.indices.reversed() {
            digits[index] = alphabet[Int(rest % 62)]
            rest /= 62
        }
        return digits
    }
}
