import Configuration
import JSONBytes
import ReadableText
import Testing

@testable import Commands

struct ClientCommandTests {
    // MARK: Finding the daemon

    @Test(
        arguments: [
            (["status", "--socket", "~/s"], [:], "/home/t/s"),
            (["status"], ["LADLE_SOCKET": "/e"], "/e"),
            (["status"], ["LADLE_SOCKET": "~/e"], "/home/t/e"),
            (["status", "--state", "/d"], [:], "/d/ladle.sock"),
            (["status"], ["LADLE_STATE": "/l"], "/l/ladle.sock"),
            (["status"], ["XDG_STATE_HOME": "/x"], "/x/ladle/ladle.sock"),
            (["status"], [:], "/c/ladle.sock"),
        ] as [([String], [String: String], String)]
    )
    func `the control socket is found by flag, environment and configuration`(
        arguments: [String],
        environment: [String: String],
        path: String
    ) {
        let io = RecordedIO()
        io.environment.merge(environment) { $1 }
        if environment.isEmpty { io.files["/home/t/.config/ladle/config.json5"] = Array("{state: '/c'}".utf8) }
        _ = CommandRunner(io: io, services: CommandServices(version: "1")).run(arguments)
        #expect(io.paths == [path])
    }

    @Test(
        arguments: [
            (["status", "--url", "https://ladle.example/"], [:], "https://ladle.example"),
            (["status", "--url", "http://[fd7a::1]:18780/ladle"], [:], "http://[fd7a::1]:18780/ladle"),
            (["status"], ["LADLE_URL": "http://h:1"], "http://h:1"),
            (["status"], [:], "https://home"),
            (["status", "--context", "attic"], [:], "http://attic:18780"),
            (["status"], ["LADLE_CONTEXT": "attic"], "http://attic:18780"),
            (["status", "--context", "local"], [:], "/home/t/.local/state/ladle/ladle.sock"),
            (["status", "--socket", "/s"], ["LADLE_URL": "http://h:1"], "/s"),
        ] as [([String], [String: String], String)]
    )
    func `a Ladle elsewhere is found by flag, environment and context`(
        arguments: [String],
        environment: [String: String],
        place: String
    ) {
        let io = RecordedIO()
        io.files["/t"] = Array("ldl_a\n".utf8)
        _ = io.run("context", "add", "attic", "http://attic:18780", "--token-file", "/t")
        _ = io.run("context", "add", "home", "https://home/")
        io.environment.merge(environment) { $1 }
        _ = CommandRunner(io: io, services: CommandServices(version: "1")).run(arguments)
        #expect(io.paths == [place])
    }

    @Test func `a context is added, used, listed and removed, and its token is sent`() {
        let io = RecordedIO()
        io.input = Array("ldl_secret\n".utf8)
        #expect(io.run("context", "add", "home", "http://h:18780/x", "--token-file", "-") == .ok)
        io.replies = [.json(200, "{}"), .json(200, "{}")]
        #expect(io.run("agents") == .ok)
        #expect(io.requests[0].hasPrefix("GET /x/v1/agents HTTP/1.1\r\nHost: h:18780\r\n"))
        #expect(io.requests[0].contains("Authorization: Bearer ldl_secret\r\n"))
        #expect(io.run("context", "list") == .ok)
        #expect(io.output.contains("http://h:18780/x"))
        #expect(io.output.hasSuffix("kept   in use\n"))
        #expect(!io.output.contains("ldl_secret"))
        #expect(io.run("context", "use", "local") == .ok)
        #expect(io.run("agents") == .ok)
        #expect(!io.requests[1].contains("Authorization"))
        #expect(io.run("context", "remove", "home") == .ok)
        #expect(io.run("context", "use", "home") == .usage)
        #expect(io.run("context", "add", "local", "http://h") == .usage)
        #expect(io.run("context", "add", "x", "h:18780") == .usage)
        #expect(io.errors.contains("write it like http://HOST:18780"))
        #expect(io.run("status", "--url", "http://h", "--socket", "/s") == .usage)
        #expect(io.run("status", "--url", "http://h", "--pin", "abc") == .usage)
    }

    @Test func `a Tab is offered only names that every shell reads as a word`() {
        let names = [
            "agent:main:main", "kitchen", "a.b_c@host/x", "x$(id)", "`id`", "a b", "it's", "x\\\"y", "\\\\", "*", "~",
            "=x", "-rf", "a\\nb",
            "\\u001b[2J", "\\u009b2J", "caf\\u00e9", "", String(repeating: "k", count: 513),
        ]
        for (list, member, key) in [
            ("sessions", "sessions", "key"), ("tokens", "tokens", "name"), ("codes", "requests", "code"),
        ] {
            let io = RecordedIO()
            let rows = names.map { #"{"\#(key)":"\#($0)"}"# }.joined(separator: ",")
            io.replies = [.json(200, #"{"\#(member)":[\#(rows)]}"#)]
            #expect(io.run("complete", list) == .ok)
            #expect(io.output == "agent:main:main\nkitchen\na.b_c@host/x\n")
        }
    }

    @Test(
        arguments: [
            ("http://ladle.example.org", true), ("http://8.8.8.8:18780", true), ("http://[2001:db8::1]", true),
            ("https://ladle.example.org", false), ("http://100.64.0.7:18780", false), ("http://192.168.1.7", false),
            ("http://172.31.0.1", false), ("http://[fd00::1]", false), ("http://box", false),
            ("http://box.local", false),
            ("http://ladle.tail1.ts.net", false), ("http://127.0.0.1:1", false),
        ]
    )
    func `who sends a token over the open network is told so, once`(url: String, isTold: Bool) {
        let io = RecordedIO()
        io.files["/t"] = Array("token".utf8)
        #expect(io.run("context", "add", "there", url, "--token-file", "/t") == .ok)
        #expect(io.errors.contains("unencrypted") == isTold)
        let added = io.errors
        io.replies = [.json(200, "{}"), .json(200, "{}")]
        _ = io.run("status")
        #expect(io.errors == added, "a context said so when it was added")
        _ = io.run("status", "--url", url, "--token-file", "/t")
        #expect(io.errors.dropFirst(added.count).contains("unencrypted") == isTold)
    }

    /// Without its pin a context would trust any certificate of an authority.
    @Test func `a context whose pin cannot be read is not used`() {
        let io = RecordedIO()
        #expect(io.run("context", "add", "home", "https://h:1", "--pin", String(repeating: "ab", count: 32)) == .ok)
        let path = io.files.keys.first { $0.hasSuffix("contexts.json") } ?? ""
        let text = String(decoding: io.files[path] ?? [], as: UTF8.self)
        io.files[path] = Array(text.replacing("abab", with: "xy").utf8)
        #expect(io.run("status", "--context", "home") == .configuration)
        #expect(io.requests.isEmpty && io.errors.contains("is damaged"))
    }

    @Test func `a daemon that does not run is 69 and says how to start it`() {
        let io = RecordedIO()
        #expect(io.run("send", "hello") == .unavailable)
        #expect(io.errors.contains("ladle serve"))
        #expect(io.output == "")
        #expect(io.run("status", "--json") == .unavailable)
        #expect(io.output.hasPrefix(#"{"code":"NOT_RUNNING""#))
    }

    static let problems: [(Int, String, ExitCode)] = [
        (401, #"{"title":"t","code":"NOT_PAIRED"}"#, .noPermission),
        (403, #"{"title":"t","code":"MISSING_SCOPE","requiredScopes":["admin"]}"#, .noPermission),
        (404, #"{"title":"t","code":"NOT_FOUND"}"#, .usage),
        (409, #"{"title":"t","code":"ALREADY_DISPATCHED","hint":"ladle abort"}"#, .unavailable),
        (412, #"{"title":"t","code":"PRECONDITION_FAILED"}"#, .temporary),
        (422, #"{"title":"t","code":"STOP_WORD","detail":"d"}"#, .usage),
        (429, #"{"title":"t","code":"OUTBOX_FULL","retryAfterMs":1500}"#, .temporary),
        (500, #"{"title":"t","code":"INTERNAL"}"#, .internal),
        (502, #"{"title":"t","code":"RUN_FAILED","detail":"quota"}"#, .unavailable),
        (503, #"{"title":"t","code":"STORE_UNAVAILABLE","retryable":false}"#, .unavailable),
        (503, #"{"title":"t"}"#, .temporary),
        (507, #"{"title":"t","code":"STORAGE_FULL"}"#, .temporary),
        (418, "teapot", .unavailable),
    ]

    @Test(arguments: problems)
    func `a problem becomes its exit code, and JSON keeps it as it is`(status: Int, body: String, exit: ExitCode) {
        let io = RecordedIO()
        io.replies = [.json(status, body), .json(status, body)]
        #expect(io.run("send", "x") == exit)
        #expect(!io.errors.isEmpty)
        #expect(io.run("send", "x", "--json") == exit)
        if body.hasPrefix("{") { #expect(io.output == body + "\n") }
    }

    @Test func `a problem is told as what happened, why and what to type`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                403,
                #"{"title":"No permission","detail":"The link\u001b[31m lacks it.","code":"X","hint":"openclaw do"}"#
            )
        ]
        #expect(io.run("identity", "set", "name=x") == .noPermission)
        #expect(io.errors == "ladle: No permission\n  The link[31m lacks it.\n  → openclaw do\n")
    }

    @Test func `the API's hints for HTTP clients are shown as commands`() {
        let io = RecordedIO()
        io.replies = [
            .json(422, #"{"title":"Stop word","code":"STOP_WORD","hint":"POST /v1/sessions/x/abort"}"#),
            .json(409, #"{"title":"Already dispatched","code":"ALREADY_DISPATCHED","hint":"POST /v1/runs/x/abort"}"#),
            .json(
                502,
                #"{"title":"t","hint":"POST /v1/outbox/e1/retry sends it again, DELETE /v1/outbox/e1?force=true, GET /v1/x"}"#
            ),
        ]
        #expect(io.run("send", "stop") == .usage)
        #expect(io.errors.contains("→ ladle abort --session x\n"))
        #expect(io.run("outbox", "cancel", "x") != .ok)
        #expect(io.errors.contains("→ ladle abort x\n"))
        #expect(io.run("send", "x") != .ok)
        #expect(
            io.errors.hasSuffix("→ ladle outbox retry e1 sends it again, ladle outbox cancel --force e1, GET /v1/x\n")
        )
        #expect(!io.errors.contains("POST"))
    }

    @Test func `a message to a named session says which one was meant`() {
        let io = RecordedIO()
        io.replies = [.json(202, #"{"id":"e1","state":"queued","session":"agent:main:upper"}"#)]
        #expect(io.run("send", "--session", "UPPER", "x") == .ok)
        #expect(io.output == "✓ queued e1 for agent:main:upper\n")
    }

    @Test func `answers come in pieces of any size, and torn ones are a failure`() {
        for size in [1, 2, 7, 64] {
            let io = RecordedIO()
            io.pieceSize = size
            io.replies = [.json(202, #"{"id":"e1","state":"queued"}"#)]
            #expect(io.run("send", "x") == .ok)
            #expect(io.output == "✓ queued e1\n")
        }
        for (text, exit) in [
            ("", ExitCode.temporary), ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", .temporary),
            ("garbage\r\n\r\n", .internal),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{x}", .internal),
        ] {
            let io = RecordedIO()
            io.replies = [.raw(text)]
            #expect(io.run("status") == exit, "\(text)")
        }
    }

    @Test func `history shows messages in local time and says when it is old`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                """
                {"live":false,"asOf":"2026-03-04T10:00:00.000Z","before":"c1","messages":[
                {"id":"m1","role":"user","text":"hi","at":"2026-03-03T09:05:00.000Z","state":"failed","error":{"code":"X","detail":"gone"}},
                {"id":"m2","role":"assistant","text":"a\\nb","at":"2026-03-04T10:59:00.000Z","state":"sent","steps":[1,2]}]}
                """
            )
        ]
        #expect(io.run("history", "--session", "a b") == .ok)
        #expect(io.requests[0].hasPrefix("GET /v1/messages?session=a%20b&limit=20 "))
        #expect(io.output == "Mar 3 10:05 you (failed)\n  hi\n  error: gone\n11:59 assistant 2 steps\n  a\n  b\n")
        #expect(io.errors.contains("From the cache of 11:00"))
        #expect(io.errors.contains("ladle history --session 'a b' --before c1"))
    }

    @Test func `a table fits the terminal, and is whole in a pipe`() {
        let entry =
            #"{"id":"018f0000-0000-7000-8000-000000000001","state":"retrying","session":"agent:main:main","attemptCount":3,"nextAttemptAt":"2026-03-04T12:01:00.000Z","text":"日本語のとても長いテキスト and more and more and more and more"}"#
        for width in [40, 60, 80, 200] {
            let io = RecordedIO()
            io.isOutputTerminal = true
            io.columns = width
            io.replies = [.json(200, "{\"entries\":[\(entry)]}"), .json(200, "{\"entries\":[\(entry)]}")]
            #expect(io.run("outbox") == .ok)
            for line in io.output.split(separator: "\n") {
                let plain = line.split(separator: "\u{1B}").map {
                    $0.hasPrefix("[") ? $0.drop { $0 != "m" }.dropFirst() : $0
                }.joined()
                #expect(DisplayWidth.of(plain) <= max(width, 62), "\(width): \(plain)")
            }
        }
        let io = RecordedIO()
        io.replies = [.json(200, "{\"entries\":[\(entry)]}")]
        io.replies += [.json(200, #"{"entries":[]}"#), .json(200, #"{"entries":[]}"#)]
        #expect(io.run("outbox", "list", "--only", "retrying") == .ok)
        #expect(io.output.contains("018f0000-0000-7000-8000-000000000001"))
        #expect(io.output.contains("in 1 min"))
        #expect(io.output.contains("and more and more and more and more"))
        #expect(io.run("outbox") == .ok)
        #expect(io.output.hasSuffix("The outbox is empty.\n"))
    }

    @Test func `entries are retried, cancelled and shown by id`() {
        let io = RecordedIO()
        io.replies = [
            .json(200, #"{"id":"e/1","state":"queued"}"#), .json(200, #"{"id":"e1","state":"cancelled"}"#),
            .json(
                200,
                #"{"id":"e1","state":"failed","error":{"code":"C","detail":"d"},"attempts":[{"at":"2026-03-04T10:00:00.000Z","class":"ambiguous","delayMs":4000}]}"#
            ),
        ]
        #expect(io.run("outbox", "retry", "e/1") == .ok)
        #expect(io.run("outbox", "cancel", "e1", "--force") == .ok)
        #expect(io.run("outbox", "show", "e1") == .ok)
        #expect(io.requests[0].hasPrefix("POST /v1/outbox/e%2F1/retry "))
        #expect(io.requests[1].hasPrefix("DELETE /v1/outbox/e1?force=true "))
        #expect(io.output.contains("C: d"))
        #expect(io.output.contains("ambiguous"))
    }

    @Test func `entries under way come first, in the order in which they go out`() {
        let io = RecordedIO()
        let rows = [("e9", "delivered"), ("e8", "queued"), ("e7", "sending"), ("e6", "failed")]
        let json = { (rows: [(String, String)]) in
            "{\"entries\":[" + rows.map { "{\"id\":\"\($0)\",\"state\":\"\($1)\"}" }.joined(separator: ",") + "]}"
        }
        io.replies = [
            .json(200, json(rows)), .json(200, json([("e8", "queued"), ("e7", "sending"), ("e1", "retrying")])),
        ]
        #expect(io.run("outbox") == .ok)
        #expect(io.output.split(separator: "\n").dropFirst().map { $0.prefix(2) } == ["e1", "e7", "e8", "e9", "e6"])
    }

    @Test func `the unique beginning of an id is enough`() {
        let io = RecordedIO()
        let ids = ["01a1fd87-2cc3-7ee0-92bc-9d05f31e7ccb", "01a1fd87-2cc4-7ee0-92bc-9d05f31e7ccb"]
        let list = "{\"entries\":[{\"id\":\"\(ids[0])\"},{\"id\":\"\(ids[1])\"}]}"
        io.replies = [
            .json(200, list), .json(200, "{}"), .json(200, list), .json(200, list), .json(404, #"{"title":"t"}"#),
        ]
        #expect(io.run("outbox", "show", "01A1fd87-2cc4…") == .ok)
        #expect(io.requests[1].hasPrefix("GET /v1/outbox/\(ids[1]) "))
        #expect(io.run("outbox", "show", "01a1fd87") == .usage)
        #expect(io.errors.contains("01a1fd87 is part of 2 ids: \(ids[0]), \(ids[1])"))
        #expect(io.run("outbox", "show", "02a1") == .usage)
        #expect(io.requests[4].hasPrefix("GET /v1/outbox/02a1 "))
    }

    @Test func `a template passes no control character on`() {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"agents":[{"id":"a\u001b]0;x\u0007b\u009bc\u202ed","x":{"y\u202e":1}}]}"#)]
        #expect(io.run("agents", "--format", "{{.id}}") == .ok)
        #expect(io.output == "a]0;xbcd\n")
    }

    @Test func `a template prints fields, a row of a list on a line`() {
        let io = RecordedIO()
        let list = #"{"live":true,"agents":[{"id":"main","default":true,"x":{"y":1}},{"id":"b","name":null}]}"#
        io.replies = [.json(200, list), .json(200, #"{"id":"e1","error":{"code":"C"},"attempts":[{}]}"#)]
        #expect(io.run("agents", "--format", #"{{.id}}\t{{ .default }} {{.x}}{{.x.y}}{{.name}}."#) == .ok)
        #expect(io.output == "main\ttrue {\"y\":1}1.\nb\t .\n")
        #expect(io.run("outbox", "show", "e1", "--format", "{{.error.code}}") == .ok)
        #expect(io.output.hasSuffix("\nC\n"))
        for wrong in ["{{.id", "{{id}}"] { #expect(io.run("agents", "--format", wrong) == .usage) }
        #expect(io.run("agents", "--format", "x", "--json") == .usage)
        #expect(io.requests.count == 2)
    }

    @Test func `sessions and agents are listed`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                #"{"live":false,"asOf":"2026-03-04T10:00:00.000Z","sessions":[{"key":"agent:main:main","title":"Lights","updatedAt":"2026-03-04T10:00:00.000Z"}]}"#
            ),
            .json(
                200,
                #"{"live":true,"agents":[{"id":"main","name":"Wren","default":true,"session":"agent:main:main"}]}"#
            ),
            .json(200, #"{"live":true,"sessions":[]}"#),
        ]
        #expect(io.run("sessions", "--limit", "9") == .ok)
        #expect(io.requests[0].hasPrefix("GET /v1/sessions?limit=9 "))
        #expect(io.output.hasSuffix("agent:main:main  11:00    Lights\n"))
        #expect(io.errors.contains("From the cache of 11:00"))
        #expect(io.run("agents") == .ok)
        #expect(io.output.hasSuffix("main   Wren  agent:main:main  default\n"))
        #expect(io.run("sessions") == .ok)
        #expect(io.output.hasSuffix("There are no sessions.\n"))
    }

    @Test func `a shell is offered what the server knows, and nothing where there is none`() {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"tokens":[{"id":"t1","name":"kitchen"},{"id":"t2","name":"two words"}]}"#)]
        #expect(io.run("complete", "tokens") == .ok)
        #expect(io.output == "kitchen\n")
        #expect(io.run("complete", "entries") == .ok)
        #expect(io.output == "kitchen\n")
        #expect(io.errors == "")
        #expect(io.run("complete", "contexts") == .ok)
        #expect(io.output == "kitchen\nlocal\n")
    }

    @Test func `the log is the journal's on Linux and a file on macOS`() {
        let journal = LogsCommand.command(.linux, lines: 5, follows: true, json: true, [:])
        #expect(
            journal == ["journalctl", "--identifier=ladle", "--lines=5", "--no-pager", "--output=json", "--follow"]
        )
        let file = LogsCommand.command(.macOS, lines: 5, follows: false, json: false, ["HOME": "/h"])
        #expect(file == ["tail", "-n", "5", "/h/Library/Logs/ladle.log"])
        let io = RecordedIO()
        #expect(io.run("logs") == .unavailable)
        #expect(io.errors.contains("--lines=50"))
    }

    @Test func `set sends one merge patch`() throws {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"path":"rpc"}"#)]
        #expect(io.run("identity", "set", "name=Wren", "vibe=a=b", "emoji=", "--agent", "x") == .ok)
        #expect(io.requests[0].hasPrefix("PATCH /v1/identity?agent=x "))
        #expect(io.requests[0].contains("If-Match: *\r\n"))
        #expect(io.requests[0].contains("Content-Type: application/merge-patch+json\r\n"))
        #expect(io.requests[0].hasSuffix(#"{"name":"Wren","vibe":"a=b","emoji":""}"#))
        #expect(io.run("identity", "set", "name") == .usage)
        #expect(io.run("identity", "set", "name=a", "name=b") == .usage)
    }

    @Test(arguments: [
        (503, #"{"title":"The gateway is away.","code":"GATEWAY_UNAVAILABLE","retryable":true}"#),
        (429, #"{"title":"The gateway is away.","code":"RATE_LIMITED","retryable":true}"#),
    ])
    func `an edit that fails for now blames nobody and keeps the text`(_ status: Int, _ problem: String) {
        let io = RecordedIO()
        io.environment["EDITOR"] = "ed"
        io.editor = { $0 + Array("bc".utf8) }
        io.replies = [
            .raw("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Type: text/markdown\r\nContent-Length: 7\r\n\r\nName: a"),
            .json(status, problem),
        ]
        #expect(io.run("profile", "edit") == .temporary)
        #expect(io.errors.contains("The gateway is away."))
        #expect(io.errors.contains("your text is kept in /tmp/ladle-1.md"))
        #expect(!io.errors.contains("someone else"))
        #expect(io.files["/tmp/ladle-1.md"] == Array("Name: abc".utf8))
    }

    @Test func `edit writes what the editor left, against the version it started from`() {
        let io = RecordedIO()
        let file = RecordedIO.Reply.raw(
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Type: text/markdown\r\nContent-Length: 7\r\n\r\nName: a"
        )
        io.environment["EDITOR"] = "ed"
        io.replies = [file]
        #expect(io.run("profile", "edit") == .ok)
        #expect(io.output == "Nothing is changed.\n")
        #expect(io.files.isEmpty)

        io.editor = { $0 + Array("bc".utf8) }
        io.replies = [file, .json(200, #"{"path":"chat"}"#)]
        #expect(io.run("profile", "edit") == .ok)
        #expect(io.requests[2].hasPrefix("PUT /v1/profile "))
        #expect(io.requests[2].contains("If-Match: \"v1\"\r\n"))
        #expect(io.requests[2].hasSuffix("\r\n\r\nName: abc"))
        #expect(io.output.hasSuffix("Written, by asking the agent.\n"))

        io.replies = [file, .json(412, #"{"title":"t","code":"PRECONDITION_FAILED"}"#)]
        #expect(io.run("profile", "edit") == .temporary)
        #expect(io.errors.contains("someone else changed the file meanwhile"))
        #expect(io.files["/tmp/ladle-1.md"] == Array("Name: abc".utf8))

        io.environment["EDITOR"] = "false"
        io.replies = [file]
        #expect(io.run("profile", "edit") == .usage)
        #expect(io.requests.count == 6)
    }

    @Test func `status, activity, runs and abort read like sentences`() {
        let io = RecordedIO()
        io.replies = [
            .json(
                200,
                #"{"version":"1","startedAt":"2026-03-04T10:00:00.000Z","demo":true,"link":{"state":"waiting_for_approval","code":"NOT_PAIRED","detail":"Pairing is required.","hint":"openclaw devices approve 7","since":"2026-03-04T10:00:00.000Z","url":"ws://h:1","scopes":[]},"outbox":{"pending":2,"unconfirmed":1,"failed":0,"oldestAgeMs":65000},"runs":{"active":1},"events":{"last":"e.9","subscribers":3}}"#
            ),
            .json(
                200,
                #"{"active":1,"headline":"Reading a file...","runs":[{"id":"r1","session":"main","state":"running","startedAt":"2026-03-04T10:00:00.000Z","steps":[{"state":"done","label":"x"},{"state":"waiting","label":"Run it?","detail":"ladle approve 7"}]}]}"#
            ),
            .json(
                200,
                #"{"runs":[{"id":"r1","session":"main","state":"failed","error":{"detail":"quota"},"steps":[]}]}"#
            ),
            .json(200, #"{"aborted":true,"runIds":["r1"]}"#), .json(200, #"{"aborted":false,"runIds":[]}"#),
            .json(202, #"{"aborted":false,"runIds":[],"entries":[{"id":"e1"}]}"#),
            .json(200, #"{"aborted":false,"runIds":[],"state":"running","detail":"It is gone."}"#),
        ]
        #expect(io.run("status") == .ok)
        #expect(io.output.contains("waiting_for_approval since 11:00\n"))
        #expect(io.output.contains("→ openclaw devices approve 7"))
        #expect(io.output.contains("2 pending, 1 unconfirmed, oldest 1 min"))
        #expect(io.run("activity") == .ok)
        #expect(io.output.contains("? Run it?  ladle approve 7"))
        #expect(io.run("runs", "--active") == .ok)
        #expect(io.output.contains("quota"))
        #expect(io.run("abort", "--session", "agent:main:main") == .ok)
        #expect(io.requests[3].hasPrefix("POST /v1/sessions/agent%3Amain%3Amain/abort "))
        #expect(io.output.hasSuffix("\nStopped.\n"))
        #expect(io.run("abort", "--session", "main") == .ok)
        #expect(io.output.hasSuffix("\nNothing was running.\n"))
        #expect(io.run("abort", "--session", "main") == .ok)
        #expect(io.output.hasSuffix("\nAsked to stop.\n"))
        #expect(io.run("abort", "--session", "main") == .ok)
        #expect(io.output.hasSuffix("\nIt is gone.\n"))
        #expect(io.run("abort") == .usage)
    }

    @Test func `a listener that serve would refuse is an error of the configuration`() {
        let io = RecordedIO()
        var services = CommandServices(version: "1")
        services.startProblem = { settings in
            settings.list(.listen) == ["0.0.0.0:80"]
                ? ConfigurationProblem(origin: .flag("--listen"), message: "listen: no TLS") : nil
        }
        _ = CommandRunner(io: io, services: services).run(["config", "check", "--listen", "127.0.0.1:80"])
        #expect(io.output.contains("is fine"))
        _ = CommandRunner(io: io, services: services).run(["config", "check", "--listen", "0.0.0.0:80"])
        #expect(io.errors.contains("config: flag --listen: listen: no TLS"), "\(io.errors)")
    }

    @Test func `the configuration is checked and shown with its origins`() {
        let io = RecordedIO()
        io.files["/home/t/.config/ladle/config.json5"] = Array("{log: {level: 'debug'}}".utf8)
        #expect(io.run("config", "check") == .ok)
        #expect(io.run("config", "show", "--origin", "--events-keep", "500") == .ok)
        #expect(io.output.contains("flag --events-keep"))
        #expect(io.output.contains("/home/t/.config/ladle/config.json5:1:15"))
        io.files["/home/t/.config/ladle/config.json5"] = Array("{lgo: 1}".utf8)
        #expect(io.run("config", "check", "--json") == .configuration)
        #expect(io.output.contains(#""message":"unknown key lgo","hint":"did you mean log?""#))
        #expect(io.run("config", "check", "--config", "/none") == .configuration)
        #expect(io.errors.contains("/none does not exist"))
    }

    @Test func `commands of the executable are handed back, and usage errors are 64`() {
        let io = RecordedIO()
        #expect(io.run("serve", "--demo") == nil)
        #expect(io.run("tls", "self-signed", "--host", "x") == nil)
        #expect(io.run("nonsense") == .usage)
        #expect(io.run("send", "--nonsense", "--json") == .usage)
        #expect(io.output.hasPrefix(#"{"code":"USAGE""#))
        #expect(io.run("version", "--json") == .ok)
        #expect(io.run("help", "token", "create") == .ok)
        #expect(io.run("--version") == .ok)
        #expect(io.output.hasSuffix("ladle 1.2.3\n"))
    }
}
