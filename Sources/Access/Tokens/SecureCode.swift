import TLS

/// Random letters without bias: bytes beyond the largest multiple of the alphabet's size are thrown away.
enum SecureCode {
    static func letters(from alphabet: [UInt8], count: Int) -> [UInt8] {
        let limit = 256 / alphabet.count * alphabet.count
        var text: [UInt8] = []
        text.reserveCapacity(count)
        while text.count < count {
            for byte in SecureRandom.bytes(count) where Int(byte) < limit && text.count < count {
                text.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return text
    }

    /// A secret of 43 letters and digits: 256 bits.
    static func secret(prefix: String) -> Secret {
        Secret(
            prefix + String(decoding: letters(from: TokenText.alphabet, count: TokenText.randomLength), as: UTF8.self)
        )
    }
}
