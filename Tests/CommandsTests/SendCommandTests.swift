import JSONBytes
import Testing

@testable import Commands

struct SendCommandTests {
    @Test func `send posts the text with everything asked for`() throws {
        let io = RecordedIO()
        io.files["a/pic.PNG"] = [1, 2, 3]
        io.replies = [.json(202, #"{"id":"e1","state":"queued"}"#)]
        let code = io.run(
            "send",
            "turn",
            "it off",
            "--session",
            "work",
            "--thinking",
            "low",
            "--ttl",
            "10m",
            "--not-before",
            "2030-01-31T08:00:00Z",
            "--attach",
            "a/pic.PNG",
            "--force",
            "--idempotency-key",
            "k1"
        )
        #expect(code == .ok)
        let request = io.requests[0]
        #expect(request.hasPrefix("POST /v1/messages?force=true HTTP/1.1\r\nHost: ladle\r\n"))
        #expect(request.contains("Idempotency-Key: \"k1\"\r\n"))
        #expect(request.contains("User-Agent: ladle/1.2.3\r\n"))
        let body = try io.body(0)
        #expect(body["text"]?.string == "turn it off")
        #expect(body["session"]?.string == "work")
        #expect(body["ttlSeconds"]?.int == 600)
        #expect(body["notBefore"]?.string == "2030-01-31T08:00:00Z")
        #expect(body["attachments"]?[0]?["name"]?.string == "pic.PNG")
        #expect(body["attachments"]?[0]?["mimeType"]?.string == "image/png")
        #expect(body["attachments"]?[0]?["data"]?.string == "AQID")
    }

    @Test func `send reads standard input when there is no text`() throws {
        let io = RecordedIO()
        io.input = Array("from a pipe\nline 2\n\n".utf8)
        io.replies = [.json(202, #"{"id":"e1"}"#)]
        #expect(io.run("send") == .ok)
        #expect(try io.body(0)["text"]?.string == "from a pipe\nline 2")
        io.input = [0xFF]
        #expect(io.run("send") == .usage)
        io.input = Array(" \n".utf8)
        #expect(io.run("send") == .usage)
        io.input = [UInt8](repeating: 0x61, count: (4 << 20) + 1)
        #expect(io.run("send", "-") == .usage)
        #expect(io.requests.count == 1)
    }

    @Test(arguments: [
        ["send", "--wait=0", "x"], ["send", "--wait=601", "x"], ["send", "--ttl", "5", "x"],
        ["send", "--ttl", "10ms", "x"],
        ["send", "--not-before", "soon", "x"], ["send", "--idempotency-key", "a b", "x"],
        ["send", "--attach", "nofile", "x"],
    ])
    func `values that cannot be are refused before anything is sent`(arguments: [String]) {
        let io = RecordedIO()
        guard case .finished(let code) = CommandRunner(io: io, services: CommandServices(version: "1")).run(arguments)
        else { return }
        #expect(code == .usage)
        #expect(io.requests.isEmpty)
        #expect(!io.errors.isEmpty)
    }

    @Test func `send --wait prints the reply alone`() {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"entry":{},"run":{},"reply":"It is\u001b[0m off."}"#)]
        #expect(io.run("send", "--wait=5", "x") == .ok)
        #expect(io.output == "It is\u{1B}[0m off.\n")
        #expect(io.requests[0].contains("Prefer: wait=5\r\n"))
        io.replies = [.json(202, #"{"id":"e1","state":"retrying"}"#)]
        #expect(io.run("send", "--wait", "x") == .temporary)
        #expect(io.errors.contains("ladle outbox show e1"))
    }

    private let steps = [
        #"id: 1.1"#, #"data: {"type":"outbox","entry":{"id":"e1","state":"accepted"}}"#, "",
        ": keep-alive",
        #"data: {"type":"run.step","step":{"id":"s1","state":"running","label":"Reading a file..."}}"#, "",
        #"data: {"type":"run.step","step":{"id":"s1","state":"done","label":"Read a file (12ms)"}}"#, "",
        #"data: {"type":"run.delta","text":"The ","offset":0}"#, "",
        #"data: {"type":"run.delta","text":"end.","offset":4}"#, "",
    ]

    @Test func `on a terminal the steps are shown live, and the reply comes last`() {
        let io = RecordedIO()
        io.isErrorTerminal = true
        io.isOutputTerminal = true
        io.environment["NO_COLOR"] = "1"
        io.replies = [
            io.stream(
                "text/event-stream",
                steps + [#"data: {"type":"run.ended","run":{"state":"completed","text":""}}"#, ""]
            )
        ]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.output == "The end.\n")
        #expect(io.errors == "• Reading a file...\r\u{1B}[2K✓ Read a file (12ms)\n")
        #expect(io.requests[0].contains("Accept: text/event-stream\r\n"))
    }

    private static let endings: [(String, ExitCode, String)] = [
        (
            #"data: {"type":"run.ended","run":{"state":"failed","error":{"code":"Q","detail":"no quota"}}}"#,
            ExitCode.unavailable, "no quota"
        ),
        (#"data: {"type":"run.ended","run":{"state":"aborted"}}"#, .unavailable, "stopped"),
        (
            #"data: {"type":"outbox","entry":{"id":"e1","state":"failed","error":{"code":"SEND_REJECTED","detail":"too large"}}}"#,
            .unavailable, "too large"
        ),
        (#"data: {"type":"shutdown"}"#, .temporary, "ladle outbox show e1"),
    ]

    @Test(arguments: endings)
    func `a live send that does not end well says why`(line: String, exit: ExitCode, text: String) {
        let io = RecordedIO()
        io.isErrorTerminal = true
        io.replies = [io.stream("text/event-stream", steps + [line, ""])]
        #expect(io.run("send", "--wait", "x") == exit)
        #expect(io.errors.contains(text))
        #expect(io.output == "")
    }

    @Test func `a message that was taken goes on when the daemon dies under it`() {
        let io = RecordedIO()
        io.isErrorTerminal = true
        let cut = #"data: {"type":"outbox","entry":{"id":"e1","state":"queued"}}"# + "\n\n"
        let chunk = String(cut.utf8.count, radix: 16) + "\r\n\(cut)\r\n"
        io.replies = [
            .raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        ]
        #expect(io.run("send", "--wait", "x") == .temporary)
        #expect(io.errors.contains("ladle outbox show e1"))
        #expect(!io.errors.contains("try again"))
    }

    @Test func `a live send goes on with its message after a restart of the daemon`() {
        let io = RecordedIO()
        io.isErrorTerminal = true
        io.isOutputTerminal = true
        io.environment["TERM"] = "dumb"
        io.replies = [
            io.stream("text/event-stream", steps + [#"data: {"type":"shutdown","reason":"restart"}"#, ""]),
            .fails(.notRunning(.unix(path: "/s"))), .fails(.closed),
            .json(503, #"{"title":"starting","code":"STORAGE_UNAVAILABLE"}"#),
            io.stream(
                "text/event-stream",
                [
                    #"data: {"type":"outbox","entry":{"id":"e1","state":"delivered"}}"#, "",
                    #"data: {"type":"run.delta","text":"The end.","offset":0,"replace":true}"#, "",
                    #"data: {"type":"run.ended","run":{"state":"completed","text":"The end. Whole."}}"#, "",
                ]
            ),
        ]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.output == "The end. Whole.\n")
        #expect(io.slept == [1000, 1000, 1000, 1000])
        let keys = io.requests.map { $0.firstRange(of: "Idempotency-Key: \"cli-").map { _ in true } }
        #expect(keys == [true, true, true])
    }

    @Test func `a send in a pipe goes on with its message after a restart of the daemon`() {
        let io = RecordedIO()
        io.replies = [
            .raw(""), .fails(.notRunning(.unix(path: "/s"))), .json(202, #"{"id":"e1","state":"accepted"}"#),
            .json(503, #"{"title":"starting","code":"STORAGE_UNAVAILABLE"}"#),
            .json(200, #"{"entry":{},"run":{},"reply":"Done."}"#),
        ]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.output == "Done.\n")
        let keys = Set(io.requests.compactMap { $0.split(separator: "\r\n").first { $0.hasPrefix("Idempotency-Key") } })
        #expect(io.requests.count == 4 && keys.count == 1)
        #expect(io.requests.last?.contains("Prefer: wait=596\r\n") == true)
    }

    @Test func `a daemon that is away for long is no restart`() {
        let io = RecordedIO()
        io.replies = [.json(202, #"{"id":"e1","state":"accepted"}"#)]
        #expect(io.run("send", "--wait", "x") == .temporary)
        #expect(io.slept.count == 60)
        #expect(io.errors.contains("ladle outbox show e1"))
    }

    @Test func `a message that waits says why`() throws {
        let io = RecordedIO()
        let entry = #"{"id":"e1","state":"queued","blockedReason":"gateway offline: it restarts"}"#
        io.replies = [.json(202, entry), .json(202, entry)]
        #expect(io.run("send", "x") == .ok)
        #expect(io.output.contains("queued e1\n  waits: gateway offline: it restarts\n"))
        #expect(io.run("send", "--wait=1", "x") == .temporary)
        #expect(io.errors.contains("The message is queued: gateway offline: it restarts"))
    }

    @Test(arguments: [#"{"type":"outbox","entry":{"id":"e1","state":"accepted"}}"#, nil])
    func `the word queued goes when the answer comes`(taken: String?) {
        let io = RecordedIO()
        (io.isOutputTerminal, io.isErrorTerminal, io.columns) = (true, true, 60)
        let events = [
            #"{"type":"outbox","entry":{"id":"e1","state":"queued"}}"#, taken,
            #"{"type":"run.delta","text":"Do","offset":0}"#, #"{"type":"run.delta","text":"ne.","offset":2}"#,
            #"{"type":"run.ended","run":{"state":"completed","text":"Done."}}"#,
        ]
        io.replies = [io.stream("text/event-stream", events.compactMap(\.self).flatMap { ["data: " + $0, ""] })]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.errors.ranges(of: "… queued").count == 1)
        #expect(io.output == "Done.\n")
    }

    @Test func `a reason that is longer than the terminal is wide is shown whole, once`() {
        let io = RecordedIO()
        (io.isOutputTerminal, io.isErrorTerminal, io.columns) = (true, true, 60)
        let reason = "the gateway would refuse it until a message to a new session: ladle send --session new hello"
        let waiting = #"data: {"type":"outbox","entry":{"id":"e1","state":"queued","blockedReason":"\#(reason)"}}"#
        let ended = #"data: {"type":"run.ended","run":{"state":"completed","text":"Done."}}"#
        io.replies = [io.stream("text/event-stream", [waiting, "", waiting, "", ended, ""])]
        #expect(io.run("send", "--wait", "x") == .ok)
        #expect(io.errors.ranges(of: "waits: \(reason)\n").count == 1)
        #expect(io.output.contains("Done."))
    }

    @Test func `without an answer the same line may be typed again with its key`() throws {
        let io = RecordedIO()
        io.replies = [.raw(""), .json(202, #"{"id":"e1","state":"queued"}"#)]
        #expect(io.run("send", "x") == .temporary)
        let head = try #require(
            io.requests.first?.firstRange(of: "Idempotency-Key: \"").map { io.requests[0][$0.upperBound...] }
        )
        let key = String(head.prefix { $0 != "\"" })
        #expect(key.utf8.count >= 16)
        #expect(io.errors.contains("--idempotency-key \(key)"))
        #expect(io.run("send", "x", "--idempotency-key", key) == .ok)
        #expect(io.requests[1].contains("Idempotency-Key: \"\(key)\"\r\n"))
        #expect(io.run("send", "x") == .unavailable)
        #expect(!io.requests.dropFirst(2).contains { $0.contains(key) })
    }

    @Test func `only an entry that may be sent again is offered to be`() {
        for (state, isOffered) in [("failed", true), ("expired", true), ("cancelled", false)] {
            let io = RecordedIO()
            io.isErrorTerminal = true
            let line = #"data: {"type":"outbox","entry":{"id":"e1","state":"\#(state)"}}"#
            io.replies = [io.stream("text/event-stream", [line, ""])]
            #expect(io.run("send", "--wait", "x") == .unavailable)
            #expect(io.errors.contains("ladle outbox retry e1") == isOffered, "\(state)")
        }
    }
}
