import Testing

@testable import TLS

struct DigestTests {
    @Test(
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ]
    )
    func `SHA-256 gives the digests of FIPS 180-4`(text: String, hex: String) {
        #expect(Digest.sha256(Array(text.utf8)) == bytes(hex: hex))
    }

    @Test func `SHA-1 gives the accept value of RFC 6455`() {
        let key = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        #expect(Digest.sha1(Array(key.utf8)) == bytes(hex: "b37a4f2cc0624f1690f64606cf385945b2bec4ea"))
    }

    @Test(
        arguments: [
            (
                [UInt8](repeating: 0x0b, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ]
    )
    func `HMAC-SHA-256 gives the tags of RFC 4231`(key: [UInt8], message: String, hex: String) {
        #expect(HMACSHA256.authenticate(Array(message.utf8), key: key) == bytes(hex: hex))
    }

    @Test func `constant-time equality agrees with plain equality`() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    }

    @Test func `random bytes have the length asked for and differ`() {
        #expect(SecureRandom.bytes(0).isEmpty)
        let first = SecureRandom.bytes(32)
        #expect(first.count == 32)
        #expect(first != SecureRandom.bytes(32))
    }
}

func bytes(hex: String) -> [UInt8] {
    let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
