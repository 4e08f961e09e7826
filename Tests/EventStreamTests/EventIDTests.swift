import EventStream
import Testing

struct EventIDTests {
    @Test(arguments: ["a.0", "0.1", "abcdefgh.12345", "abcdefghi.1", "0123456789abcdef.9223372036854775807"])
    func `an id is read and written alike`(_ text: String) throws {
        let id = try EventID(parsing: text)
        #expect(id.text == text)
        #expect(try EventID(parsing: Array("  \(text)".utf8)[2...]) == id)
    }

    private static let badIDs: [(String, EventIDError)] = [
        ("", EventIDError.empty), ("a", .noDot), (".1", .badEpoch), ("A.1", .badEpoch), ("a-b.1", .badEpoch),
        ("abcdefghijklmnopq.1", .badEpoch), ("a.", .badSequence), ("a.01", .badSequence), ("a.+1", .badSequence),
        ("a.1x", .badSequence), ("a.1.2", .badSequence), ("a.9223372036854775808", .badSequence),
        ("a.99999999999999999999", .badSequence), ("a.1\0", .badSequence), ("\u{e4}.1", .badEpoch), (" a.1", .badEpoch),
        (String(repeating: "a", count: 60), .tooLong),
    ]

    @Test(arguments: badIDs)
    func `anything else is refused`(_ text: String, _ error: EventIDError) {
        #expect(throws: error) { try EventID(parsing: text) }
    }

    @Test func `epochs are told apart and made from random bits`() {
        #expect(EventEpoch("abc") != EventEpoch("abd"))
        #expect(EventEpoch("abcdefgh1") != EventEpoch("abcdefgh2"))
        #expect(EventEpoch("") == nil)
        for random in [0, 1, UInt64.max, 0x0123_4567_89AB_CDEF] {
            let epoch = EventEpoch.make(random: random)
            #expect(epoch.text.utf8.count == 12)
            #expect(EventEpoch(epoch.text) == epoch)
        }
        #expect(EventEpoch.make(random: 1) != EventEpoch.make(random: 2))
        #expect(MemoryLayout<EventID>.size == 24)
    }
}
