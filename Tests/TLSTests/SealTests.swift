import Testing

@testable import TLS

struct SealTests {
    private let seal = Seal(secret: [UInt8](repeating: 7, count: 32), purpose: "test")

    @Test(arguments: [0, 1, 16, 119, 4_000]) func `a sealed secret is opened under its name alone`(count: Int) throws {
        let plain = SecureRandom.bytes(count)
        let sealed = seal.seal(plain, as: "device-key")
        #expect(sealed.count == count + 28 && sealed != seal.seal(plain, as: "device-key"))
        #expect(seal.open(sealed, as: "device-key") == plain)
        #expect(seal.open(sealed, as: "device-tokens.json") == nil)
    }

    @Test func `no other key and no changed byte opens it`() {
        let sealed = seal.seal(Array("secret".utf8), as: "a")
        for other in [
            Seal(secret: [UInt8](repeating: 8, count: 32), purpose: "test"),
            Seal(secret: [UInt8](repeating: 7, count: 32), purpose: "other"),
        ] { #expect(other.open(sealed, as: "a") == nil) }
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(seal.open(changed, as: "a") == nil, "byte \(place)")
        }
        for count in 0..<sealed.count { #expect(seal.open(Array(sealed.prefix(count)), as: "a") == nil) }
    }
}
