import Testing

@testable import Commands

/// `ladle watch`.
struct WatchCommandTests {
    @Test func `watch resumes behind the last event`() {
        let io = RecordedIO()
        io.replies = [
            io.stream(
                "application/x-ndjson",
                [
                    #"{"type":"hello","id":"e.5","at":"2026-03-04T11:00:00.000Z"}"#,
                    #"{"type":"run.started","id":"e.6","at":"2026-03-04T11:00:00.000Z","session":"main","run":{}}"#,
                    #"{"type":"shutdown","retry":700}"#,
                ]
            ),
            .fails(.notRunning(.unix(path: "x"))),
            io.stream(
                "application/x-ndjson",
                [
                    #"{"type":"hello","id":"e.6"}"#,
                    #"{"type":"run.ended","id":"e.7","at":"2026-03-04T11:00:02.000Z","session":"main","run":{"state":"completed","text":"Hi\nthere"}}"#,
                ]
            ),
        ]
        #expect(io.run("watch", "--limit", "2", "--types", "run.*") == .ok)
        #expect(io.slept == [700, 1000])
        #expect(
            io.requests.map { String($0.prefix { !$0.isNewline }) } == [
                "GET /v1/events?types=run.%2A&snapshot=true HTTP/1.1",
                "GET /v1/events?types=run.%2A&since=e.6 HTTP/1.1",
            ]
        )
        #expect(io.output.contains("12:00:00 main run started\n"))
        #expect(io.output.hasSuffix("12:00:02 main run completed: Hi there\n"))
    }

    @Test func `watch shows a message once, when it has arrived`() {
        let io = RecordedIO()
        let lines = ["sending", "sent"].map {
            #"{"type":"message","id":"e.1","message":{"id":"m1","role":"user","text":"hello","state":"\#($0)"}}"#
        }
        io.replies = [io.stream("application/x-ndjson", [#"{"type":"hello"}"#] + lines)]
        #expect(io.run("watch", "--timeout", "1") == .ok)
        #expect(io.output.split(separator: "\n").filter { $0.hasSuffix("you: hello") }.count == 1)
    }

    @Test func `watch shows a message, its steps and its reply once, and trouble`() {
        let io = RecordedIO()
        let at = #""at":"2026-03-04T11:00:05.000Z","session":"main","runId":"r1""#
        io.replies = [
            io.stream(
                "application/x-ndjson",
                [
                    #"{"type":"hello"}"#,
                    #"{"type":"outbox",\#(at),"entry":{"id":"e1","state":"queued","text":"hi"}}"#,
                    #"{"type":"message",\#(at),"message":{"id":"e1","role":"user","text":"hi","state":"sending"}}"#,
                    #"{"type":"run.started",\#(at),"run":{}}"#,
                    #"{"type":"run.step",\#(at),"step":{"id":"s1","label":"Reading a file...","state":"running"}}"#,
                    #"{"type":"run.step",\#(at),"step":{"id":"s1","label":"Read a file","state":"done"}}"#,
                    #"{"type":"message",\#(at),"message":{"id":"e1","role":"user","text":"hi","state":"sent"}}"#,
                    #"{"type":"run.delta",\#(at),"text":"He","offset":0}"#,
                    #"{"type":"message",\#(at),"message":{"id":"m2","role":"assistant","runId":"r1","text":"Hello"}}"#,
                    #"{"type":"run.ended",\#(at),"run":{"state":"completed","text":"Hello\nyou"}}"#,
                    #"{"type":"outbox",\#(at),"entry":{"id":"e2","state":"failed","text":"x","error":{"detail":"quota"}}}"#,
                ]
            )
        ]
        #expect(io.run("watch", "--timeout", "1") == .ok)
        #expect(
            io.output == """
                12:00:05 main you: hi
                12:00:05 main ✓ Read a file
                12:00:05 main agent: Hello
                  you
                12:00:05 main outbox failed x (quota)

                """
        )
    }

    @Test func `on a terminal watch begins with the messages that wait already`() {
        let io = RecordedIO()
        io.isOutputTerminal = true
        io.environment["NO_COLOR"] = "1"
        let entry =
            #"{"id":"e1","state":"queued","session":"main","text":"hi","createdAt":"2026-03-04T11:00:05.000Z","#
            + #""blockedReason":"the gateway is away"}"#
        let fine = #"{"id":"e2","state":"queued","text":"next","createdAt":"2026-03-04T11:00:05.000Z"}"#
        io.replies = [
            io.stream(
                "application/x-ndjson",
                [#"{"type":"hello"}"#, #"{"type":"outbox","session":"main","entry":\#(entry)}"#]
            ), .json(200, #"{"entries":[\#(fine),\#(entry)]}"#),
        ]
        #expect(io.run("watch", "--timeout", "1") == .ok)
        #expect(io.output.contains("12:00:05 main outbox queued hi (the gateway is away)\n"))
        #expect(io.output.ranges(of: "outbox queued").count == 1)
        #expect(io.requests.last?.contains("/v1/outbox?state=queued%2Cretrying%2Cunconfirmed&limit=20") == true)
    }

    @Test func `on a terminal the running step stays below the text that comes`() {
        let io = RecordedIO()
        (io.isOutputTerminal, io.isErrorTerminal, io.columns) = (true, true, 40)
        io.environment["NO_COLOR"] = "1"
        var screen = ""
        io.onWrite = { screen += $0 }
        io.replies = [
            io.stream(
                "text/event-stream",
                [
                    #"data: {"type":"run.step","step":{"id":"s1","label":"Reading...","state":"running"}}"#,
                    #"data: {"type":"run.delta","text":"Hel","offset":0}"#,
                    #"data: {"type":"run.delta","text":"lo","offset":3}"#,
                    #"data: {"type":"run.step","step":{"id":"s1","label":"Read","state":"done"}}"#,
                    #"data: {"type":"run.ended","run":{"state":"completed","text":"Hello."}}"#,
                ]
            )
        ]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.output == "Hello.\n")
        let below = "\r\n• Reading...\u{1B}[A\r\u{1B}"
        #expect(
            screen == "• Reading...\r\u{1B}[2KHel\(below)[3C\u{1B}[Jlo\(below)[5C\u{1B}[J.\n"
        )
    }

    @Test func `watch --json passes every event on, one a line`() {
        let io = RecordedIO()
        let lines = [#"{"type":"hello"}"#, #"{"type":"message","id":"e.1","message":{"text":"a"}}"#]
        io.replies = [io.stream("application/x-ndjson", lines)]
        #expect(io.run("watch", "--json", "--limit", "1") == .ok)
        #expect(io.output == lines.map { $0 + "\n" }.joined())
    }

    @Test func `watch stops at its time, and a refusal is a failure`() {
        let io = RecordedIO()
        io.replies = [io.stream("application/x-ndjson", [#"{"type":"hello"}"#])]
        #expect(io.run("watch", "--timeout", "3") == .ok)
        #expect(io.slept.reduce(0, +) == 3000)
        io.replies = [.json(400, #"{"title":"bad types","code":"BAD_QUERY"}"#)]
        #expect(io.run("watch", "--types", "nope") == .usage)
    }
}
