import Basics
import Testing

struct BasicsTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_795_183_135_782, "2026-11-20T13:58:55.782Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (Int64.max, "9999-12-31T23:59:59.999Z"), (Int64.min, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)]
    ) func `a moment prints as RFC 3339`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test(
        arguments: [
            ("2026-11-20T13:58:55.782Z", 1_795_183_135_782), ("2026-11-20T15:58:55.7829+02:00", 1_795_183_135_782),
            ("2026-11-20 13:58:55z", 1_795_183_135_000), ("1969-12-31T23:59:59.9Z", -100),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
        ] as [(String, Int64)]
    ) func `RFC 3339 is read in its variants`(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026-11-20", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T00:00:00",
        "2026-11-20T00:00:00+0200", "2026-11-20T00:00:00.Z", "2026-11-20T00:00:00Zx", "20261120T000000Z",
    ]) func `other texts are no moment`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `base 64 follows RFC 4648 in both alphabets`() {
        #expect(
            ["", "f", "fo", "foo", "foob"].map { Base64.encode(Array($0.utf8)) } == [
                "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==",
            ]
        )
        #expect(Base64.encode([0xFB, 0xFF], as: .url) == "-_8")
        #expect(Base64.decode("-_8", as: .url) == [0xFB, 0xFF])
        #expect(Base64.decode("Zg", as: .standard) == [0x66])
        for bad in ["Z", "Zg=", "Zg===", "Zh==", "Z g=", "-_8=", "Zg==Zg=="] {
            #expect(Base64.decode(bad) == nil, "\(bad)")
        }
    }

    @Test(arguments: [Base64.Alphabet.standard, .url])
    func `base 64 of any bytes gives them back, and its length is known without them`(alphabet: Base64.Alphabet) {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ length) }
            let text = Array(Base64.encode(bytes, as: alphabet).utf8)
            #expect(Base64.decode(text, as: alphabet) == bytes)
            #expect(Base64.decodedCount(text.span, as: alphabet) == length)
            for place in text.indices {
                for stranger in ["=", "!", " ", "\u{0}", "\u{ff}"].flatMap(\.utf8) {
                    var damaged = text
                    damaged[place] = stranger
                    if stranger == UInt8(ascii: "="), place >= text.count - 2 { continue }
                    #expect(Base64.decode(damaged, as: alphabet) == nil)
                    #expect(Base64.decodedCount(damaged.span, as: alphabet) == nil)
                }
            }
        }
    }

    @Test func `base 16 is read in both cases, in whole bytes`() {
        #expect(Hex.decode("00fFa9") == [0x00, 0xFF, 0xA9])
        #expect(Hex.decode("abc") == nil)
        #expect(Hex.decode("0g") == nil)
    }

    @Test func `identifiers carry their time and sort by it`() {
        let random = [UInt8](repeating: 0xFF, count: 10)
        #expect(UUIDv7.make(milliseconds: 0x0198_0000_0001, random: random) == "01980000-0001-7fff-bfff-ffffffffffff")
        #expect(UUIDv7.make(milliseconds: 1, random: []) < UUIDv7.make(milliseconds: 2, random: []))
        #expect(UUIDv7.isWellFormed("01980000-0001-7fff-bfff-ffffffffffff"))
        #expect(!UUIDv7.isWellFormed("01980000-0001-7fff-bfff-fffffffffff"))
    }

    /// Gateways mask such a key in their transcripts, and its message would not be found again.
    @Test func `no identifier looks like a provider's key`() {
        let random: [UInt8] = [0, 0, 0x3C, 0xFC, 1, 2, 3, 4, 5, 6]
        #expect(UUIDv7.make(milliseconds: 1, random: random) == "00000000-0001-7000-bcfd-010203040506")
    }

    @Test func `a masked key agrees with those that it may be`() throws {
        let masked = try #require(MaskedKey("01a2053f-be64-7342-bc***:user"))
        #expect(masked.agrees(with: "01a2053f-be64-7342-bcfc-e47199a32661:user"))
        #expect(!masked.agrees(with: "01a2053f-be64-7342-bcfc-e47199a32661"))
        #expect(!masked.agrees(with: "01a2053f-be64-7343-bcfc-e47199a32661:user"))
        #expect(MaskedKey("fc-e471…2661")?.agrees(with: "fc-e47199a32661") == true)
        #expect(MaskedKey("***")?.agrees(with: "") == true && MaskedKey("") == nil)
    }

    @Test func `the nearest name is found, a far one is not`() {
        let names = ["gateway.scopes", "listen", "state"]
        #expect(NearestName.of("gateway.scope", in: names) == "gateway.scopes")
        #expect(NearestName.of("litsen", in: names) == "listen")
        #expect(NearestName.of("zzz", in: names) == nil)
        #expect(NearestName.of("abcdxy", in: ["abcdef"]) == "abcdef")
        #expect(NearestName.of("abcxyz", in: ["abcdef"]) == nil, "more than a third differs")
        #expect(NearestName.of("", in: names) == nil)
    }

    @Test func `numbers are appended in decimal`() {
        var bytes: [UInt8] = []
        for value in [0, 7, 10, -120, Int.max, Int.min] { bytes.append(decimal: value); bytes.append(0x20) }
        #expect(String(decoding: bytes, as: UTF8.self) == "0 7 10 -120 9223372036854775807 -9223372036854775808 ")
    }
}
