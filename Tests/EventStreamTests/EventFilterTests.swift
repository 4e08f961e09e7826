import EventStream
import Testing

struct EventFilterTests {
    static let known = ["run.started", "run.delta", "run.ended", "message", "outbox", "link"]

    func filter(_ types: String?, session: String? = nil, run: String? = nil) throws -> EventFilter {
        try EventFilter(types: types, session: session, run: run, known: Self.known)
    }

    func admitted(_ filter: EventFilter) -> [String] { Self.known.filter { filter.admits(type: $0) } }

    @Test func `names, patterns and everything`() throws {
        #expect(try admitted(filter(nil)) == Self.known)
        #expect(try admitted(filter("run.*")) == ["run.started", "run.delta", "run.ended"])
        #expect(try admitted(filter("run.*, outbox")) == ["run.started", "run.delta", "run.ended", "outbox"])
        #expect(try filter("link,link").types == [.exact("link")])
        #expect(try filter("*").admits(type: "message"))
        #expect(try !filter("message").admits(type: "messages"))
    }

    @Test func `session and run restrict`() throws {
        let bySession = try filter("run.*", session: "agent:main:main")
        #expect(bySession.admits(type: "run.delta", session: "agent:main:main", run: "1"))
        #expect(!bySession.admits(type: "run.delta", session: "other", run: "1"))
        #expect(!bySession.admits(type: "run.delta", session: nil, run: nil))
        #expect(!bySession.admits(type: "message", session: "agent:main:main", run: nil))
        let byRun = try filter(nil, run: "7")
        #expect(byRun.admits(type: "message", session: "x", run: "7"))
        #expect(!byRun.admits(type: "message", session: "x", run: "8"))
    }

    @Test func `a session is one by its bytes`() throws {
        let (one, two) = (try filter(nil, session: "caf\u{E9}"), try filter(nil, session: "cafe\u{301}"))
        #expect(one != two)
        #expect(one.admits(type: "message", session: "caf\u{E9}", run: nil))
        #expect(!one.admits(type: "message", session: "cafe\u{301}", run: nil))
    }

    private static let badLists: [(String, EventFilterError.Reason)] = [
        ("", EventFilterError.Reason.empty), ("a,,b", .unknownType("a", nearest: nil)), ("message,", .empty),
        ("mesage", .unknownType("mesage", nearest: "message")), ("run", .unknownType("run", nearest: nil)),
        ("foo.*", .unknownType("foo.*", nearest: nil)),
        ("ru*", .badPattern("ru*")), ("*.*", .badPattern("*.*")), ("**", .badPattern("**")),
        (String(repeating: "link,", count: 33), .tooMany(32)),
    ]

    @Test(arguments: badLists)
    func `a bad list names the parameter and the entry`(_ types: String, _ reason: EventFilterError.Reason) throws {
        if case .tooMany = reason {
            // Repetitions count once; 33 different names are needed.
            let names = (0..<33).map { "t\($0)" }
            #expect(throws: EventFilterError(parameter: "types", reason: reason)) {
                try EventFilter(types: names.joined(separator: ","), session: nil, run: nil, known: names)
            }
            return
        }
        #expect(throws: EventFilterError(parameter: "types", reason: reason)) { try filter(types) }
    }

    @Test func `bad session and run name their parameter`() throws {
        #expect(throws: EventFilterError(parameter: "session", reason: .empty)) { try filter(nil, session: "") }
        for control in ["\n", "\u{1F}", "\u{7F}"] {
            #expect(throws: EventFilterError(parameter: "run", reason: .controlCharacter)) {
                try filter(nil, run: "a\(control)b")
            }
        }
        #expect(try filter(nil, run: "a b~").run == "a b~")
        #expect(throws: EventFilterError(parameter: "session", reason: .tooLong(512))) {
            try filter(nil, session: String(repeating: "s", count: 513))
        }
    }
}
