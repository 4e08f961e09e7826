import Basics
import Testing

@testable import Gateway

struct SessionKeyTests {
    private let defaults = SessionDefaults()

    private static let spellings: [(String, String)] = [
        ("main", "agent:main:main"),
        ("Main", "agent:main:main"),
        (" main ", "agent:main:main"),
        ("agent:main:main", "agent:main:main"),
        ("AGENT:Main:MAIN", "agent:main:main"),
        ("side", "agent:main:side"),
        ("agent:scout:main", "agent:scout:main"),
        ("agent:main:telegram:group:12", "agent:main:telegram:group:12"),
        ("global", "global"),
        // A skin tone joins the character before it to form one Character.
        ("agent:main:\u{1F3FB}", "agent:main:\u{1F3FB}"),
    ]

    @Test(arguments: spellings)
    func `every spelling of a key gives one key`(written: String, expected: String) throws {
        #expect(try defaults.canonical(written).text == expected)
    }

    private static let noKeys: [(String, SessionKey.Problem)] = [
        ("", SessionKey.Problem.empty),
        ("   ", .empty),
        ("agent:", .malformed),
        ("agent:main", .malformed),
        ("agent::x", .malformed),
        ("agent:_a:x", .malformed),
        ("a b", .blank),
        ("a\u{0}b", .control("\u{0}")),
        ("a\u{9B}b", .control("\u{9B}")),
        ("agent:\u{301}main:x", .malformed),
    ]

    @Test(arguments: noKeys)
    func `a text that is not a key is refused`(written: String, problem: SessionKey.Problem) {
        #expect(throws: problem) { try defaults.canonical(written) }
    }

    @Test func `a key longer than the gateway takes is refused`() throws {
        #expect(
            try defaults.canonical(String(repeating: "k", count: 512)).text == "agent:main:"
                + String(repeating: "k", count: 512)
        )
        #expect(throws: SessionKey.Problem.tooLong(limit: 512)) {
            try defaults.canonical(String(repeating: "k", count: 513))
        }
        // A text that is far too long is not looked through, not even for blanks.
        #expect(throws: SessionKey.Problem.tooLong(limit: 512)) {
            try defaults.canonical(String(repeating: " ", count: 1 << 20) + "main")
        }
    }

    @Test func `keys are the same if their bytes are, however a letter is written`() throws {
        let (one, two) = (try defaults.canonical("caf\u{E9}"), try defaults.canonical("cafe\u{301}"))
        #expect(one != two && Set([one, two]).count == 2)
        #expect(one == SessionKey(canonical: "agent:main:caf\u{E9}"))
        #expect([one, two].sorted() == [two, one] && [two, one].sorted() == [two, one])
        let named = SessionDefaults(mainKey: "caf\u{E9}")
        #expect(try named.canonical("caf\u{E9}") == named.mainSession)
        for written in ["cafe\u{301}", "agent:main:cafe\u{301}"] {
            #expect(try named.canonical(written) == SessionKey(canonical: "agent:main:cafe\u{301}"))
        }
    }

    @Test func `the gateway's own main key is main`() throws {
        let other = SessionDefaults(agent: "home", mainKey: "Work", mainSession: "agent:home:work")
        #expect(try other.canonical("main").text == "agent:home:work")
        #expect(try other.canonical("work").text == "agent:home:work")
        #expect(try other.canonical("agent:home:main").text == "agent:home:work")
        #expect(try other.canonical("agent:main:main").text == "agent:main:main")
        #expect(try other.canonical("side").text == "agent:home:side")
    }

    @Test func `a frame's broken key is kept, so that its events are not lost`() {
        #expect(defaults.tolerant("agent:Main").text == "agent:main")
        #expect(defaults.tolerant("main").text == "agent:main:main")
    }
}
