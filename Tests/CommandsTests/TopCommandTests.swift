import JSONBytes
import Testing

@testable import Commands

/// `ladle top` on a terminal: the requests it makes, and the terminal it gives back.
struct TopCommandTests {
    private static let lists: [RecordedIO.Reply] = [
        .json(200, #"{"approvals":[]}"#), .json(501, #"{"title":"no","code":"GATEWAY_UNSUPPORTED"}"#),
        .json(200, #"{"sessions":[]}"#),
        .json(200, #"{"entries":[]}"#), .json(200, #"{"providers":[]}"#), .json(200, #"{"days":[]}"#),
    ]

    private static func onTerminal() -> RecordedIO {
        let io = RecordedIO()
        (io.isOutputTerminal, io.isErrorTerminal, io.isInputTerminal) = (true, true, true)
        return io
    }

    @Test func `one stream and each list once, until q`() {
        let io = Self.onTerminal()
        io.replies =
            [io.stream("application/x-ndjson", [TopModelTests.hello(), TopModelTests.started("r1")])] + Self.lists
        io.onSleep = { io.screenKeys = [("", 0, "q")] }
        #expect(io.run("top") == .ok)
        let lines = io.requests.map { $0.prefix { $0 != "?" && $0 != "\r" }.split(separator: " ")[1] }
        #expect(
            lines == [
                "/v1/events", "/v1/approvals", "/v1/questions", "/v1/sessions", "/v1/outbox", "/v1/usage",
                "/v1/usage/cost",
            ]
        )
        #expect(io.hasGivenScreenBack && io.output.contains("ladle top"))
    }

    @Test func `q ends it also while a list is read`() {
        let io = Self.onTerminal()
        io.replies = [io.stream("application/x-ndjson", [TopModelTests.hello()])] + Self.lists
        io.screenKeys = [("", 0, "q")]
        io.onSleep = { io.screenKeys = [("", 0, "q")] }
        #expect(io.run("top") == .ok)
        #expect(io.requests.count == 2 && io.slept.isEmpty && io.hasGivenScreenBack)
    }

    @Test func `a list that cannot be read is not shown as empty, and one that there is not is no fault`() {
        let io = Self.onTerminal()
        var lists = Self.lists
        lists[0] = .json(503, #"{"title":"t","code":"STORE_UNAVAILABLE"}"#)
        lists[3] = .json(500, "no JSON")
        io.replies = [io.stream("application/x-ndjson", [TopModelTests.hello()])] + lists
        io.onSleep = { io.screenKeys = [("", 0, "q")] }
        #expect(io.run("top") == .ok)
        #expect(io.output.contains("not known: approvals, outbox"), "\(io.output)")
    }

    @Test func `an approval is decided by two keys, for the question that was shown`() throws {
        let io = Self.onTerminal()
        let events = [TopModelTests.hello(), TopModelTests.approval(), TopModelTests.entry("queued")]
        let made = TopModelTests.approval("allowed").dropFirst(#"{"type":"approval","approval":"#.count).dropLast()
        io.replies = [io.stream("application/x-ndjson", events)] + Self.lists + [.json(200, String(made))]
        // Keys are typed at the end of the stream, when all has been taken.
        io.onSleep = { io.screenKeys = [("", 0, "a"), ("", 500, "y"), ("", 0, "q")] }
        #expect(io.run("top") == .ok)
        let request = try #require(io.requests.last)
        #expect(request.hasPrefix("POST /v1/approvals/ap1 "))
        let body = try io.body(io.requests.count - 1)
        #expect(body["decision"]?.string == "allow-once" && body["commandSha256"]?.string == "c0ffee")
    }

    @Test func `a run is stopped by two keys`() throws {
        let io = Self.onTerminal()
        io.replies =
            [io.stream("application/x-ndjson", [TopModelTests.hello(), TopModelTests.started("r1")])] + Self.lists
        io.replies += [.json(200, #"{"aborted":true}"#)]
        io.onSleep = { io.screenKeys = [("", 0, "x"), ("", 500, "y"), ("", 0, "q")] }
        #expect(io.run("top") == .ok)
        #expect(io.requests.last?.hasPrefix("POST /v1/runs/r1/abort ") == true)
        #expect(io.output.contains("Stopped."))
    }

    @Test func `a server that restarts is waited for, and its lists are read again`() {
        let io = Self.onTerminal()
        let stream = io.stream("application/x-ndjson", [TopModelTests.hello()])
        io.replies = [stream] + Self.lists + [.fails(.closed), stream] + Self.lists
        io.onSleep = { if io.slept.count == 3 { io.screenKeys = [("", 0, "q")] } }
        #expect(io.run("top") == .ok)
        #expect(io.slept == [500, 1000, 500], "\(io.slept)")
        #expect(io.requests.count { $0.hasPrefix("GET /v1/sessions") } == 2)
        #expect(io.output.contains("Ladle is away; coming back."))
    }

    @Test func `without a terminal it says so`() {
        for change in [
            { $0.isOutputTerminal = false }, { $0.isInputTerminal = false }, { $0.environment["TERM"] = "dumb" },
        ]
            as [(RecordedIO) -> Void]
        {
            let io = Self.onTerminal()
            change(io)
            #expect(io.run("top") == .usage)
            #expect(io.errors.contains("there is none") && io.errors.contains("ladle watch --json"))
            #expect(io.requests.isEmpty)
        }
        let io = Self.onTerminal()
        #expect(
            io.run("top", "--json") == .usage && io.errors.contains("NO_TERMINAL") || io.output.contains("NO_TERMINAL")
        )
    }

    @Test func `a server that is not there, or refuses, is an error as of any command`() {
        let io = Self.onTerminal()
        #expect(io.run("top") == .unavailable)
        io.replies = [.json(401, #"{"title":"t","code":"UNAUTHENTICATED"}"#)]
        #expect(io.run("top") == .noPermission)
        #expect(!io.output.contains("\u{1B}["))
    }
}
