import TLS

/// SHA-256 of a secret, stored and compared in its place. Secrets here have at least 128 random bits, so nobody can search
/// for one by its hash; slow hashes are for passwords.
package struct SecretDigest: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// A digest of no secret, compared with if there is no record.
    static let none = SecretDigest(words: (0, 0, 0, 0))

    private init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    package init(of secret: [UInt8]) {
        self = SecretDigest(bytes: Digest.sha256(secret)) ?? .none
    }

    package init(of secret: Secret) {
        self.init(of: Array(secret.reveal().utf8))
    }

    /// Reads the stored form: 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        func word(_ index: Int) -> UInt64 {
            var value: UInt64 = 0
            for byte in bytes[index * 8..<index * 8 + 8] { value = value << 8 | UInt64(byte) }
            return value
        }
        words = (word(0), word(1), word(2), word(3))
    }

    package var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(32)
        for word in [words.0, words.1, words.2, words.3] {
            for shift in stride(from: 56, through: 0, by: -8) {
                out.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return out
    }

    /// Compares without branching on the contents.
    package func equals(_ other: SecretDigest) -> Bool {
        (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2) | (words.3 ^ other.words.3)
            == 0
    }

    package static func == (left: SecretDigest, right: SecretDigest) -> Bool { left.equals(right) }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}
