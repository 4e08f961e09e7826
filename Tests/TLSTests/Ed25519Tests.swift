import Testing

@testable import TLS

struct Ed25519Tests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let seed: String
        let publicKey: String
        let message: String
        let signature: String
        var testDescription: String { name }
    }

    /// RFC 8032 §7.1, and one of the gateway's device-auth vectors with its seed 00…1f.
    static let vectors = [
        Vector(
            name: "empty message",
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        Vector(
            name: "one byte",
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"
        ),
        Vector(
            name: "device authentication",
            seed: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            publicKey: "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
            message: hex(
                "v3|56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c|gateway-client|backend|operator|"
                    + "operator.read,operator.write,operator.approvals|1767225600000|example-shared-token|"
                    + "3f1c0a52-6f0e-4a57-9c0f-2d9a6f0b7c11|macos|mac"
            ),
            signature:
                "ae5760ca21925f5b1c6ff8f592af8a966fd2d4af70663ea89e3a3a7c0e6e432604f6687be05f4692f81888c3d2506b05"
                + "891c6504fc069329bd09400a43602300"
        ),
    ]

    @Test(arguments: vectors) func `keys and signatures are those of the vectors`(vector: Vector) throws {
        let key = try Ed25519PrivateKey(seed: bytes(hex: vector.seed))
        #expect(key.publicKey.raw == bytes(hex: vector.publicKey))
        let message = bytes(hex: vector.message)
        let signature = try key.sign(message)
        #expect(signature == bytes(hex: vector.signature))
        #expect(try Ed25519PublicKey(raw: bytes(hex: vector.publicKey)).verify(signature, of: message))
    }

    @Test func `a changed signature, message or key does not verify`() throws {
        let key = try Ed25519PrivateKey.generate()
        let message = Array("left alone".utf8)
        let signature = try key.sign(message)
        #expect(key.publicKey.verify(signature, of: message))
        for position in [0, 31, 32, 63] {
            var changed = signature
            changed[position] ^= 1
            #expect(!key.publicKey.verify(changed, of: message))
        }
        #expect(!key.publicKey.verify(signature, of: message + [0]))
        #expect(!key.publicKey.verify(Array(signature.dropLast()), of: message))
        #expect(!(try Ed25519PrivateKey.generate()).publicKey.verify(signature, of: message))
        #expect(!(try Ed25519PublicKey(raw: [UInt8](repeating: 0xff, count: 32))).verify(signature, of: message))
    }

    @Test func `a key survives its PEM form, which is standard PKCS#8`() throws {
        let key = try Ed25519PrivateKey(seed: Array(0..<32))
        let pem = try key.pem()
        #expect(
            String(decoding: pem, as: UTF8.self) == """
                -----BEGIN PRIVATE KEY-----
                MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
                -----END PRIVATE KEY-----

                """
        )
        #expect(try Ed25519PrivateKey(pem: pem) == key)
    }

    @Test(arguments: [0, 31, 33, 64]) func `a seed or public key of another length is refused`(length: Int) {
        #expect(throws: TLSError.self) { try Ed25519PrivateKey(seed: [UInt8](repeating: 1, count: length)) }
        #expect(throws: TLSError.self) { try Ed25519PublicKey(raw: [UInt8](repeating: 1, count: length)) }
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func `text that holds no key gives an error with the library's reason`(text: String) {
        let error = #expect(throws: TLSError.self) { try Ed25519PrivateKey(pem: Array(text.utf8)) }
        #expect(error?.fault == .ours)
        #expect(error?.reasons.isEmpty == false)
    }
}

private func hex(_ text: String) -> String {
    let digits = Array("0123456789abcdef")
    return String(text.utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}
