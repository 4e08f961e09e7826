import Basics
import TLS

/// Cryptography and randomness for the model. Tests pass their own random bytes.
package struct DemoPrimitives {
    /// Ed25519: raw public key, message, signature.
    package var verify: ([UInt8], [UInt8], [UInt8]) -> Bool
    package var sha256: ([UInt8]) -> [UInt8]
    package var randomBytes: (Int) -> [UInt8]

    package init(
        verify: @escaping ([UInt8], [UInt8], [UInt8]) -> Bool,
        sha256: @escaping ([UInt8]) -> [UInt8],
        randomBytes: @escaping (Int) -> [UInt8]
    ) {
        self.verify = verify
        self.sha256 = sha256
        self.randomBytes = randomBytes
    }

    package static var system: DemoPrimitives {
        DemoPrimitives(
            verify: { publicKey, message, signature in
                guard let key = try? Ed25519PublicKey(raw: publicKey) else { return false }
                return key.verify(signature, of: message)
            },
            sha256: { Digest.sha256($0) },
            randomBytes: { SecureRandom.bytes($0) }
        )
    }

    /// A version 4 UUID, the form of the gateway's own ids.
    func uuid() -> String {
        var bytes = randomBytes(16)
        guard bytes.count == 16 else { return "00000000-0000-4000-8000-000000000000" }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let text = Array(Hex.encode(bytes))
        let groups = [text[0..<8], text[8..<12], text[12..<16], text[16..<20], text[20..<32]]
        return groups.map { String($0) }.joined(separator: "-")
    }

    func shortID() -> String { Hex.encode(randomBytes(4)) }

    func token() -> String { Base64.encode(randomBytes(32), as: .url) }
}
