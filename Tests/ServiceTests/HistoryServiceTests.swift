import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import Testing
import Upstream

@testable import Service

/// The history of sessions on the gateways of both protocols. Frames are recorded ones with the times of the test's clock.
struct HistoryServiceTests {
    private static let main = ServiceBench.main

    private func read(_ bench: ServiceBench, limit: Int = 50, on loop: isolated EventLoop) async throws -> [JSONValue] {
        let query = MessagePages.Query(session: Self.main, limit: limit, before: nil, after: nil)
        let page = try await page(query, bench, on: loop)
        return (page?.messages ?? []).map { json($0) }
    }

    private func page(
        _ query: MessagePages.Query,
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws -> MessagePages.Page? {
        var page: MessagePages.Page?
        loop.start { page = try? await bench.services.messagePages.read(query, refresh: true, on: loop) }
        try await bench.settle(on: loop)
        return page
    }

    private func texts(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> [String?] {
        try await read(bench, on: loop).map { $0["text"]?.string }
    }

    private func resets(_ bench: ServiceBench) -> Int {
        bench.data("session").count { $0["reason"]?.string == "reset" }
    }

    // MARK: One message, one id

    /// A row as 2026.3.1 writes it, or with an id, as 2026.4.26 does.
    private func row(_ role: String, _ text: String, at time: Int64, id: String? = nil) -> String {
        let own = id.map { #","__openclaw":{"id":"\#($0)","seq":1}"# } ?? ""
        let end = role == "assistant" ? #","stopReason":"stop""# : ""
        return
            #"{"role":"\#(role)","content":[{"type":"text","text":\#(quoted(text))}],"timestamp":\#(time)\#(end)\#(own)}"#
    }

    @Test(arguments: [true, false])
    func `on protocol 3 a message of ours is announced once in each state`(hasSubscriptions: Bool) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: hasSubscriptions ? ["sessions.subscribe"] : [], on: loop)
            let id = try await bench.accept("hello three", on: loop) ?? ""
            let start = ManualClock.start.milliseconds
            let ids = hasSubscriptions ? ("77657acd", "a347d32f") : nil
            let question = row("user", "hello three", at: start + 6000, id: ids?.0)
            let answer = row("assistant", "Hello! You said: hello three", at: start + 6020, id: ids?.1)
            if hasSubscriptions {
                let taken =
                    #"{"sessionKey":"\#(Self.main)","message":{"role":"user","content":"hello three","timestamp":\#(start + 20),"__openclaw":{"seq":0}},"messageSeq":0}"#
                try await bench.event("session.message", taken, on: loop)
            }
            try await bench.advance(6000, on: loop)
            let begun = #"{"phase":"start","startedAt":\#(start + 6000)}"#
            try await bench.event("agent", Frame.agent(id, 1, "lifecycle", begun), on: loop)
            if let ids {
                let written = #"{"sessionKey":"\#(Self.main)","message":\#(question),"messageId":"\#(ids.0)"}"#
                try await bench.event("session.message", written, on: loop)
            }
            bench.gateway.rows[Self.main] = [question, answer]
            try await bench.event("chat", Frame.final(id, 4, "Hello! You said: hello three"), on: loop)
            try await bench.advance(2000, on: loop)
            let asked = bench.messages.filter { $0["role"]?.string == "user" }
            #expect(asked.map { $0["id"]?.string } == [id, id])
            #expect(asked.map { $0["state"]?.string } == ["sending", "sent"])
            let replies = bench.messages.filter { $0["role"]?.string == "assistant" }
            #expect(replies.map { $0["runId"]?.string } == [id])
            #expect(try await read(bench, on: loop).map { $0["id"]?.string }.first == id)
        }
    }

    @Test func `a stranger's message is announced when it is written, once`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            let start = ManualClock.start.milliseconds
            let taken =
                #"{"sessionKey":"\#(Self.main)","message":{"role":"user","content":"hi","timestamp":\#(start),"__openclaw":{"seq":0}}}"#
            try await bench.event("session.message", taken, on: loop)
            #expect(bench.messages.isEmpty)
            let written = row("user", "hi", at: start + 6000, id: "cbd058d6")
            for _ in 0..<2 {
                try await bench.event(
                    "session.message",
                    #"{"sessionKey":"\#(Self.main)","message":\#(written),"messageId":"cbd058d6"}"#,
                    on: loop
                )
            }
            #expect(bench.messages.map { $0["id"]?.string } == ["cbd058d6"])
        }
    }

    /// Recording two-lines.v2026.3.1: the row has one blank for the line feed or the no-break space.
    @Test(arguments: ["hello", "hello\nagain", "hello\u{a0}again"])
    func `a message of ours keeps its id, its run and its lines after a restart`(text: String) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try await bench.accept(text, on: loop) ?? ""
            let shown = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let start = ManualClock.start.milliseconds
            bench.gateway.rows[Self.main] = [
                row("user", shown, at: start + 10), row("assistant", "Hello you", at: start + 20),
            ]
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 4, "Hello you"), on: loop)
            try await bench.advance(2000, on: loop)
            try await bench.restart(on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            let page = try await read(bench, on: loop)
            #expect(page.map { $0["id"]?.string }.first == id)
            #expect(page.map { $0["runId"]?.string } == [id, id])
            #expect(page.map { $0["text"]?.string } == [text, "Hello you"])
        }
    }

    // MARK: Equal words

    /// A run with its row and its answer.
    private func turn(
        _ run: String,
        _ words: String,
        _ answer: String,
        ids: (String, String),
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws {
        let at = loop.wallClock.milliseconds
        try await bench.event("agent", Frame.start(run, at: at), on: loop)
        bench.gateway.rows[Self.main, default: []] += [
            row("user", words, at: at, id: ids.0), row("assistant", answer, at: at + 20, id: ids.1),
        ]
        try await bench.event("chat", Frame.final(run, 9, answer), on: loop)
        try await bench.advance(3_000, on: loop)
    }

    /// 2026.4.26 and 2026.3.1, seen live: a message was stopped before the gateway wrote its row. After a restart of Ladle its entry had
    /// the row of the next message with the same words.
    @Test(arguments: [false, true])
    func `the list names the runs of the stream, also after a message that left no row`(isKilled: Bool) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            let stopped = try await bench.accept("slow please", on: loop) ?? ""
            try await bench.event("agent", Frame.start(stopped), on: loop)
            bench.gateway.rows[Self.main] = [row("user", "slow please", at: loop.wallClock.milliseconds, id: "u0")]
            try await bench.advance(3_000, on: loop)
            try await bench.event("chat", Frame.end(stopped, "aborted"), on: loop)
            bench.gateway.rows[Self.main] = []
            try await bench.advance(3_000, on: loop)
            let own = try await bench.accept("slow please", on: loop) ?? ""
            try await turn(own, "slow please", "An answer.", ids: ("u1", "a1"), bench, on: loop)
            try await turn("run-x", "slow please", "Another answer.", ids: ("u2", "a2"), bench, on: loop)
            #expect(try await bench.state(stopped) == .delivered)
            var told: [String: String] = [:]
            for message in bench.messages {
                if let id = message["id"]?.string, let run = message["runId"]?.string { told[id] = run }
            }
            #expect(told["a1"] == own && told["a2"] == "run-x")
            if isKilled {
                try await bench.kill(on: loop)
                try await bench.open(version: 3, on: loop)
            }
            let page = try await read(bench, on: loop)
            #expect(page.map { $0["id"]?.string } == [stopped, own, "a1", "u2", "a2"])
            #expect(page.map { $0["runId"]?.string } == [stopped, own, own, "run-x", "run-x"])
            for message in page {
                guard let id = message["id"]?.string, let run = told[id] else { continue }
                #expect(message["runId"]?.string == run)
            }
        }
    }

    private static let notice =
        "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."

    /// 2026.4.26, seen live: the rows stay those of the first run, and the entry names the one that answers in the end.
    @Test(arguments: [1, 2], [false, true])
    func `a message whose run went on in others and failed there is told and listed once`(
        restarts: Int,
        isKilled: Bool
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            let id = try await bench.accept("slow please", on: loop) ?? ""
            let first = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start(id, at: first), on: loop)
            try await bench.event("agent", Frame.text(id, 2, "Let me look."), on: loop)
            try await write(row("user", "slow please", at: first, id: "u0"), bench, on: loop)
            let words = row("assistant", "Let me look.", at: first + 20, id: "a0")
            try await write(words.replacing(#""stop""#, with: #""toolUse""#), bench, on: loop)
            try await bench.advance(3_000, on: loop)
            var last = id
            var told: [JSONValue] = []
            for number in 1...restarts {
                try await bench.drop(on: loop)
                if isKilled {
                    told += bench.messages
                    try await bench.kill(on: loop)
                }
                try await bench.open(version: 3, uptimeMs: 100, on: loop)
                try await bench.advance(6_000, on: loop)
                last = "run-\(number)"
                let now = loop.wallClock.milliseconds
                try await bench.event("agent", Frame.start(last, at: now), on: loop)
                try await write(row("user", Self.notice, at: now, id: "u\(number)"), bench, on: loop)
                try await bench.advance(3_000, on: loop)
            }
            try await bench.event("chat", Frame.end(last, "error"), on: loop)
            try await bench.advance(3_000, on: loop)
            #expect(try await bench.entry(id).runID == last)
            told += bench.messages
            try await bench.kill(on: loop)
            try await bench.open(version: 3, on: loop)
            try await bench.advance(3_000, on: loop)
            told += bench.messages
            let listed = try await read(bench, on: loop)
            for messages in [told, listed] {
                let own = messages.filter { $0["text"]?.string == "slow please" }
                #expect(Set(own.map { $0["id"]?.string }) == [id])
            }
            #expect(listed.count { $0["id"]?.string == id } == 1)
        }
    }

    private func write(_ row: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        bench.gateway.rows[Self.main, default: []].append(row)
        try await bench.row(row, on: loop)
    }

    // MARK: Resets by others

    private func conversation(_ id: String) -> String { #","sessionId":"\#(id)","thinkingLevel":"low""# }

    private func talk(_ bench: ServiceBench, _ id: String, on loop: isolated EventLoop) async throws {
        bench.gateway.rows[Self.main] = [Row.user("one", id: "r1"), Row.assistant("two", id: "r2")]
        bench.gateway.historyMembers = conversation(id)
        #expect(try await texts(bench, on: loop) == ["one", "two"])
    }

    @Test func `a page of another conversation begins the session anew`() async throws {
        // 2026.3.1 shows a reset in no other way.
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await talk(bench, "d2e563a6-3f1d-4b18-9783-7fbd08d0c566", on: loop)
            bench.gateway.rows[Self.main] = []
            bench.gateway.historyMembers = conversation("c6a4125f-3a76-4996-9e2d-4379784316bd")
            #expect(try await texts(bench, on: loop) == [])
            #expect(resets(bench) == 1)
            #expect(bench.data("session").last?["sessionInfo"]?["key"]?.string == Self.main)
            try await bench.drop(on: loop)
            #expect(try await texts(bench, on: loop) == [])
        }
    }

    @Test func `an event that names another conversation is one reset, also without the word`() async throws {
        for members in [#""reason":"reset""#, #""phase":"start","runId":"run-9""#] {
            try await withLinkedServices { bench, loop in
                try await talk(bench, "a1f8accc-0633-48b6-b507-98ab3e1568ec", on: loop)
                let new = "b4b8094d-dca0-4cab-a8f2-b45019eaa9ea"
                try await bench.event(
                    "sessions.changed",
                    #"{"sessionKey":"\#(Self.main)",\#(members),"sessionId":"\#(new)","displayName":"Bridge"}"#,
                    on: loop
                )
                #expect(resets(bench) == 1, "\(members)")
                bench.gateway.rows[Self.main] = []
                bench.gateway.historyMembers = conversation(new)
                #expect(try await texts(bench, on: loop) == [])
                #expect(resets(bench) == 1)
                try await bench.drop(on: loop)
                #expect(try await texts(bench, on: loop) == [])
            }
        }
    }

    @Test func `a reset while Ladle was away is seen`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await talk(bench, "d2e563a6", on: loop)
            try await bench.restart(on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            bench.gateway.rows[Self.main] = [Row.user("three", id: "r3")]
            bench.gateway.historyMembers = conversation("c6a4125f")
            #expect(try await texts(bench, on: loop) == ["three"])
            #expect(resets(bench) == 1)
            try await bench.drop(on: loop)
            #expect(try await texts(bench, on: loop) == ["three"])
        }
    }

    @Test func `messages of ours from before a reset are gone with it`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("one", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("one", key: id, id: "r1")]
            bench.gateway.historyMembers = conversation("a1")
            #expect(try await texts(bench, on: loop) == ["one"])
            try await bench.event("chat", Frame.final(id, 9, nil), on: loop)
            try await bench.advance(5000, on: loop)
            bench.gateway.rows[Self.main] = []
            bench.gateway.historyMembers = conversation("b2")
            #expect(try await texts(bench, on: loop) == [])
            try await bench.drop(on: loop)
            #expect(try await texts(bench, on: loop) == [])
        }
    }

    /// 2026.4.26, seen live: another client said the same in the conversation that took the place of the message's own.
    @Test(arguments: [false, true])
    func `what is written once a message's run has completed is another message's`(isKilled: Bool) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let start = ManualClock.start.milliseconds
            let id = try await bench.accept("yes", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id, at: start), on: loop)
            bench.gateway.rows[Self.main] = [row("user", "yes", at: start), row("assistant", "One.", at: start + 100)]
            let end = #"{"phase":"end","startedAt":\#(start),"endedAt":\#(start + 150)}"#
            try await bench.event("agent", Frame.agent(id, 3, "lifecycle", end), on: loop)
            try await bench.advance(5_000, on: loop)
            if isKilled {
                // A message without a run brings the runs beside it back to mind.
                try await bench.accept("no", on: loop)
                try await bench.kill(on: loop)
                try await bench.open(version: 3, methods: [], on: loop)
            }
            bench.gateway.rows[Self.main] = [
                row("user", "yes", at: start + 4_000), row("assistant", "Two.", at: start + 4_100),
            ]
            let shown = try await read(bench, on: loop)
            #expect(shown.contains { $0["text"]?.string == "yes" && $0["id"]?.string != id }, "\(shown)")
            let answer = try #require(shown.first { $0["text"]?.string == "Two." })
            #expect(answer["runId"]?.string != id, "\(shown)")
        }
    }

    @Test func `a page that was under way while the session was reset is asked for again`() async throws {
        try await withLinkedServices { bench, loop in
            try await talk(bench, "old", on: loop)
            bench.gateway.silent = ["chat.history"]
            var page: MessagePages.Page?
            let query = MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil)
            loop.start { page = try? await bench.services.messagePages.read(query, refresh: true, on: loop) }
            let reset = #"{"sessionKey":"\#(Self.main)","reason":"reset","sessionId":"new"}"#
            try await bench.event("sessions.changed", reset, on: loop)
            bench.gateway.answer("chat.history")
            try await bench.settle(on: loop)
            #expect(page == nil)
            bench.gateway.rows[Self.main] = []
            bench.gateway.historyMembers = conversation("new")
            bench.gateway.answer("chat.history")
            try await bench.settle(on: loop)
            #expect(page?.messages.isEmpty == true)
            #expect(resets(bench) == 1)
        }
    }

    // MARK: Long texts

    // MARK: Refused, and in the transcript

    /// 2026.6.11 writes the row of a message that it refuses to run.
    @Test(arguments: [true, false])
    func `a refused message has failed, whatever the transcript has`(isLive: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("hello", on: loop) ?? ""
            let words = "Error: reply session initialization conflicted for agent:main:main"
            try await bench.event("chat", Frame.end(id, "error").replacing("it broke", with: words), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: id), Row.user("from the phone", id: "row-2")]
            var messages = try await read(bench, on: loop)
            if !isLive {
                try await bench.drop(on: loop)
                messages = try await read(bench, on: loop)
            }
            #expect(try await bench.state(id) == .failed)
            #expect(messages.count == 2)
            let own = messages.first { $0["id"]?.string == id }
            #expect(own?["state"]?.string == "failed" && own?["runId"] == nil, "no run of it can be asked for")
            #expect(
                bench.messages.filter { $0["id"]?.string == id }.map { $0["state"]?.string } == ["sending", "failed"]
            )
        }
    }

    // MARK: What no transcript has

    /// A message that failed, one that was stopped before the gateway wrote it, and later rows.
    private func unwritten(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> [String] {
        bench.gateway.next("chat.send", refused("INVALID_REQUEST", "no such thing"))
        let failed = try await bench.accept("one", on: loop) ?? ""
        try await bench.advance(1_000, on: loop)
        let stopped = try await bench.accept("two", on: loop) ?? ""
        try await bench.event("chat", Frame.end(stopped, "aborted"), on: loop)
        let start = ManualClock.start.milliseconds
        bench.gateway.rows[Self.main] = [
            Row.user("before", id: "row-1", at: start - 5_000),
            Row.user("three", id: "row-2", at: start + 3_000),
            Row.assistant("four", id: "row-3", at: start + 4_000),
        ]
        try await bench.advance(120_000, on: loop)
        return [failed, stopped]
    }

    @Test(arguments: [true, false])
    func `a message that no transcript has stands at its time`(isLive: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let own = try await unwritten(bench, on: loop)
            var messages = try await read(bench, on: loop)
            if !isLive {
                try await bench.drop(on: loop)
                messages = try await read(bench, on: loop)
            }
            #expect(messages.map { $0["id"]?.string } == ["row-1"] + own + ["row-2", "row-3"])
            #expect(messages.map { $0["state"]?.string } == ["sent", "failed", "sent", "sent", "sent"])
        }
    }

    /// 2026.6.11 takes the row of a stopped message out of the conversation.
    @Test func `a stopped message stands at its time when its row is gone again`() async throws {
        try await withLinkedServices { bench, loop in
            let start = ManualClock.start.milliseconds
            let before = [Row.user("before", id: "row-1", at: start - 5_000), Row.assistant("yes", at: start - 4_000)]
            let id = try await bench.accept("two", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[Self.main] = before + [Row.user("two", key: id, id: "row-2", at: start)]
            try await bench.row(Row.user("two", key: id, id: "row-2", at: start), on: loop)
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            #expect(try await bench.state(id) == .delivered)
            bench.gateway.rows[Self.main] = before + [Row.user("three", id: "row-3", at: start + 3_000)]
            try await bench.advance(120_000, on: loop)
            #expect(try await texts(bench, on: loop) == ["before", "yes", "two", "three"])
        }
    }

    @Test(arguments: [true, false])
    func `pages reach each message once, also those that no transcript has`(isLive: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let own = try await unwritten(bench, on: loop)
            _ = try await read(bench, on: loop)
            if !isLive { try await bench.drop(on: loop) }
            var ids: [String] = []
            var before: MessagePages.Place?
            for _ in 0..<4 {
                let query = MessagePages.Query(session: Self.main, limit: 2, before: before, after: nil)
                let page = try #require(try await page(query, bench, on: loop))
                ids = page.messages.map(\.id) + ids
                guard let next = page.before else { break }
                before = MessagePages.Place(next.text)
            }
            #expect(ids == ["row-1"] + own + ["row-2", "row-3"])
        }
    }

    @Test func `long texts are asked for where the gateway takes the question`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: ["chat.history"], on: loop)
            _ = try await read(bench, on: loop)
            #expect(bench.gateway.requests("chat.history").map { $0.params["maxChars"]?.int } == [nil])
            try await bench.open(on: loop)
            _ = try await read(bench, on: loop)
            #expect(bench.gateway.requests("chat.history").last?.params["maxChars"]?.int == 40_000)
            bench.gateway.next(
                "chat.history",
                refused("INVALID_REQUEST", "invalid chat.history params: at root: unexpected property 'maxChars'")
            )
            bench.gateway.rows[Self.main] = [Row.user("one", id: "r1")]
            #expect(try await texts(bench, on: loop) == ["one"])
            #expect(try await texts(bench, on: loop) == ["one"])
            let asked = bench.gateway.requests("chat.history").suffix(3).map { $0.params["maxChars"]?.int }
            #expect(asked == [40_000, nil, nil])
        }
    }

    @Test func `an answer that was whole when its run ended stays whole`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try await bench.accept("longanswer please", on: loop) ?? ""
            let whole = (0..<4_230).map { "w\($0 + 10_000)" }.joined(separator: " ")
            let start = ManualClock.start.milliseconds
            bench.gateway.rows[Self.main] = [
                row("user", "longanswer please", at: start + 10),
                row("assistant", whole.prefix(12_000) + "\n...(truncated)...", at: start + 20),
            ]
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 4, whole), on: loop)
            try await bench.advance(2000, on: loop)
            #expect(bench.messages.last?["text"]?.string == whole)
            try await bench.restart(on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            for _ in 0..<2 {
                let message = try await read(bench, on: loop).last
                #expect(message?["text"]?.string == whole)
                #expect(message?["truncated"] == nil)
            }
        }
    }

    @Test func `an answer that fills its frame leaves older rows out`() async throws {
        try await withLinkedServices { bench, loop in
            let long = String(repeating: "x", count: 128 << 10)
            bench.gateway.rows[Self.main] = (0..<33).map { Row.user(long, id: "r\($0)") }
            let query = MessagePages.Query(session: Self.main, limit: 20, before: nil, after: nil)
            let found = try await page(query, bench, on: loop)
            #expect(found?.before != nil)
            #expect(bench.gateway.requests("chat.history").count == 1)
        }
    }

    // MARK: Attachments

    @Test func `a file has the name that its sender gave, on its way and afterwards`() async throws {
        try await withLinkedServices { bench, loop in
            let body = #"{"attachments":[{"name":"holiday.png","mimeType":"image/png","data":"iVBORw0KGgo="}]}"#
            let id = try await bench.accept("look", body: body, on: loop) ?? ""
            #expect(bench.messages.last?["attachments"]?[0]?["name"]?.string == "holiday.png")
            let file = "/home/demo/.openclaw/media/inbound/f19834f4-6484-46d5-9c19-66e473ca7f2f.png"
            bench.gateway.rows[Self.main] = [
                #"{"role":"user","content":"look","timestamp":\#(ManualClock.start.milliseconds),"idempotencyKey":"\#(id):user","MediaPaths":["\#(file)"],"MediaTypes":["image/png"],"__openclaw":{"id":"229ae4a4"}}"#,
                Row.assistant("Nice.", key: id, id: "r2"),
            ]
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 4, "Nice."), on: loop)
            try await bench.advance(1000, on: loop)
            #expect(try await bench.state(id) == .delivered)
            let shown = try await read(bench, on: loop).first
            #expect(shown?["attachments"]?[0]?["name"]?.string == "holiday.png")
            #expect(shown?["attachments"]?[0]?["bytes"]?.int == 8)
        }
    }

    /// 2026.4.26, seen live: also where an empty end of the run comes before its start.
    @Test(arguments: [false, true], [false, true])
    func `pictures without words are told and listed once, under their entries' ids`(
        isRestarted: Bool,
        hasEmptyEnd: Bool
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            let body = #"{"attachments":[{"name":"dot.png","mimeType":"image/png","data":"iVBORw0KGgo="}]}"#
            var own: [String] = []
            for number in 0..<2 {
                let id = try await bench.accept("", body: body, on: loop) ?? ""
                own.append(id)
                try await bench.advance(2_000, on: loop)
                if hasEmptyEnd { try await bench.event("chat", Frame.final(id, 1, nil), on: loop) }
                let at = loop.wallClock.milliseconds
                try await bench.event("agent", Frame.start(id, at: at), on: loop)
                let row = Row.user("[User sent media without caption]", id: "row-\(number)", at: at)
                bench.gateway.rows[Self.main, default: []].append(row)
                try await bench.row(row, on: loop)
                let answer = Row.assistant("Nice \(number).", id: "answer-\(number)", at: at + 1_000)
                bench.gateway.rows[Self.main]?.append(answer)
                let over = #"{"phase":"end","endedAt":\#(at + 1_000)}"#
                try await bench.event("agent", Frame.agent(id, 3, "lifecycle", over), on: loop)
                try await bench.event("chat", Frame.final(id, 4, "Nice \(number)."), on: loop)
                try await bench.advance(2_000, on: loop)
                #expect(try await bench.state(id) == .delivered)
            }
            let told = bench.messages.filter { $0["role"]?.string == "user" }.map { $0["id"]?.string }
            #expect(told == [own[0], own[0], own[1], own[1]])
            if isRestarted {
                try await bench.restart(on: loop)
                try await bench.advance(120_000, on: loop)
                try await bench.open(version: 3, on: loop)
            }
            let listed = try await read(bench, on: loop)
            #expect(listed.map { $0["id"]?.string } == [own[0], "answer-0", own[1], "answer-1"])
            #expect(listed.map { $0["text"]?.string } == ["", "Nice 0.", "", "Nice 1."])
        }
    }

    // MARK: Words that look like housekeeping

    @Test(arguments: [
        "---IDENTITY---\n# A\n---USER---\n# B\n---END---", "[Inter-session message] sourceSession=a",
        "Pre-compaction memory flush. Store durable memories", "/verbose on",
    ])
    func `a sender cannot hide its message behind such words`(words: String) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept(words, on: loop) ?? ""
            bench.gateway.rows[Self.main] = [
                Row.user(words, key: id, id: "r1"), Row.assistant(words, key: id, id: "r2"),
            ]
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.event("chat", Frame.final(id, 4, words), on: loop)
            try await bench.advance(1000, on: loop)
            #expect(try await texts(bench, on: loop) == [words, words])
            #expect(bench.messages.map { $0["text"]?.string } == [words, words, words])
        }
    }
}
