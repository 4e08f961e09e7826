import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

struct MessageTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_100_000)

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000 + seconds * 1_000) }

    private func page(
        _ rows: String,
        tracker: RunTracker = RunTracker(),
        sent: [SentMessage] = [],
        told: [String: String] = [:]
    ) -> [ChatMessage] {
        MessagePage(
            history: json("{\"messages\":[\(rows)]}"),
            session: main,
            tracker: tracker,
            sent: sent,
            told: told,
            now: now
        )
        .messages
    }

    /// Recording provider-429.v2026.4.26: a page repeats the rows of a failed run behind the next answer.
    @Test func `a row that is repeated in a later turn does not make that one its run's`() {
        let failed =
            #"{"role":"assistant","content":[],"stopReason":"error","timestamp":1795000001000,"__openclaw":{"id":"a1"}}"#
        let rows = [
            #"{"role":"user","content":"one","timestamp":1795000000000,"__openclaw":{"id":"u1"}}"#, failed,
            #"{"role":"user","content":"two","timestamp":1795000002000,"__openclaw":{"id":"u2"}}"#,
            #"{"role":"assistant","content":[{"type":"text","text":"yes"}],"stopReason":"stop","timestamp":1795000003000,"__openclaw":{"id":"a2"}}"#,
            failed,
        ]
        let messages = page(rows.joined(separator: ","), told: ["a1": "run-1"])
        #expect(messages.first { $0.id == "a2" }?.runID == nil)
        #expect(messages.first { $0.id == "u1" }?.runID == "run-1")
    }

    /// 2026.4.26: the row's event has no text, and the page has these words in its place.
    @Test func `a model's row without words has the error alone`() {
        let placeholder = "[assistant turn failed before producing content]"
        for content in ["[]", #"[{"type":"text","text":"\#(placeholder)"}]"#] {
            let row =
                #"{"role":"assistant","content":\#(content),"stopReason":"error","errorMessage":"429 slow down","#
                + #""timestamp":1795000001000,"__openclaw":{"id":"a1"}}"#
            let messages = page(row)
            #expect(messages.map(\.text) == [""] && messages.first?.error == "429 slow down")
        }
    }

    @Test func `rows of a turn become two messages, the tools steps of the answer`() throws {
        let messages = page(
            #"""
            {"role":"user","content":[{"type":"text","text":"Read notes.md"}],"timestamp":1795000000000,"__openclaw":{"id":"a1","seq":1}},
            {"role":"assistant","content":[{"type":"thinking","thinking":"Needing the file."},{"type":"toolCall","id":"call_9","name":"read","arguments":{"path":"notes.md"}}],"stopReason":"toolUse","timestamp":1795000004000,"__openclaw":{"id":"a2","seq":2}},
            {"role":"toolResult","toolCallId":"call_9","toolName":"read","isError":false,"content":[{"type":"text","text":"buy tea"}],"timestamp":1795000005000,"__openclaw":{"id":"a3","seq":3}},
            {"role":"assistant","content":[{"type":"text","text":"It says: buy tea."}],"stopReason":"stop","timestamp":1795000006000,"__openclaw":{"id":"a4","seq":4}}
            """#
        )
        #expect(messages.map(\.id) == ["a1", "a4"])
        #expect(messages.map(\.role) == [.user, .assistant])
        #expect(messages.map(\.text) == ["Read notes.md", "It says: buy tea."])
        #expect(messages[1].steps.map(\.label) == ["Needed the file", "Read notes.md (1s)"])
        #expect(messages[1].steps.map(\.state) == [.done, .done])
    }

    /// 2026.3.1 and 2026.4.26, seen live: two messages were turned away, and neither has a row of its own.
    @Test(arguments: [
        "⚠️ Agent failed before reply: Gateway is draining for restart; new tasks are not accepted.",
        "⚠️ Gateway is restarting. Please wait a few seconds and try again.",
    ])
    func `that a message was turned away is said of no run, each time`(words: String) {
        func notice(_ id: String, at seconds: Int64) -> String {
            #"{"role":"assistant","model":"gateway-injected","stopReason":"stop","content":[{"type":"text","text":"\#(words)"}],"#
                + #""timestamp":\#(1_795_000_000_000 + seconds * 1_000),"__openclaw":{"id":"\#(id)"}}"#
        }
        let messages = page(
            #"{"role":"user","content":"hi","timestamp":1795000000000,"idempotencyKey":"k1:user"},"#
                + #"{"role":"assistant","content":"Hello.","stopReason":"stop","timestamp":1795000001000},"#
                + [notice("a", at: 5), notice("b", at: 6)].joined(separator: ",")
        )
        #expect(messages.map(\.runID) == ["k1", "k1", nil, nil])
        #expect(messages.map(\.state) == [.sent, .sent, .failed, .failed])
        #expect(messages.suffix(2).map(\.error) == [words, words])
    }

    @Test func `text before a tool call is its own message, and the call belongs to the next`() {
        let messages = page(
            #"""
            {"role":"user","content":"weather?","timestamp":1795000000000},
            {"role":"assistant","content":[{"type":"text","text":"Let me check. "},{"type":"tool_use","id":"c","name":"exec","input":{"command":"date"}}],"timestamp":1795000001000},
            {"role":"tool","tool_call_id":"c","tool_name":"exec","content":"ok","timestamp":1795000001500},
            {"role":"assistant","content":"Sunny.","timestamp":1795000002000}
            """#
        )
        #expect(messages.map(\.text) == ["weather?", "Let me check.", "Sunny."])
        #expect(messages.map { $0.steps.count } == [0, 1, 0])
    }

    @Test func `a message sent through us keeps its entry's id, and is shown once`() {
        let row =
            #"{"role":"user","content":"hi","timestamp":1795000000000,"idempotencyKey":"k1:user","__openclaw":{"id":"z"}}"#
        let again = row.replacingText("\"z\"", with: "\"z2\"")
        let messages = page("\(row),\(again)", sent: [SentMessage(id: "entry-1", keys: ["k1"], text: nil)])
        #expect(messages.map(\.id) == ["entry-1"])
        #expect(messages.map(\.runID) == ["k1"])
    }

    private static let unseen: [String] = [
        #"{"role":"user","content":"/verbose on"},{"role":"assistant","content":"⚙️ Verbose logging enabled."}"#,
        #"{"role":"assistant","content":[{"type":"text","text":"⚙️ Verbose logging set to full."}]}"#,
        #"{"role":"user","content":"Return both files:\n---IDENTITY---\n---USER---\n---END---"},{"role":"assistant","content":"---IDENTITY---\n# A\n---USER---\n# B\n---END---"}"#,
        #"{"role":"assistant","content":"NO_REPLY"}"#,
        #"{"role":"assistant","content":" no_reply \n"}"#,
        #"{"role":"user","content":"Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."},{"role":"assistant","content":"HEARTBEAT_OK"}"#,
        #"{"role":"user","content":"x","provenance":{"kind":"inter_session"}}"#,
        #"{"role":"assistant","content":[]},{"role":"assistant","content":"   "},{"role":"user","content":""}"#,
        #"{"role":"custom","content":"x"},{"content":"x"},{"role":5},null,7,"text",[]"#,
    ]

    @Test(arguments: unseen)
    func `housekeeping and rows without words never show`(rows: String) {
        #expect(page(rows).isEmpty)
    }

    @Test func `hidden runs of our own never show`() {
        var tracker = RunTracker()
        tracker.hide("house")
        let rows =
            #"{"role":"user","content":"do it","idempotencyKey":"house:user"},{"role":"assistant","content":"done","idempotencyKey":"house"}"#
        #expect(page(rows, tracker: tracker).isEmpty)
    }

    @Test func `an alert of a heartbeat shows, its prompt does not`() {
        let rows =
            #"{"role":"user","content":"Read HEARTBEAT.md if it exists. Reply HEARTBEAT_OK."},{"role":"assistant","content":"The disk is full."}"#
        #expect(page(rows).map(\.text) == ["The disk is full."])
    }

    @Test func `a user's own commands stay`() {
        #expect(
            page(#"{"role":"user","content":"/status"},{"role":"assistant","content":"All well"}"#).map(\.text) == [
                "/status", "All well",
            ]
        )
    }

    @Test func `errors of providers surface with their text`() {
        let messages = page(
            #"""
            {"role":"user","content":"hi","timestamp":1795000000000},
            {"role":"assistant","content":[],"stopReason":"error","errorMessage":"402 You exceeded your current quota","timestamp":1795000001000}
            """#
        )
        #expect(messages.map(\.state) == [.sent, .failed])
        #expect(messages[1].error == "402 You exceeded your current quota")
        #expect(messages[1].text.isEmpty)
    }

    @Test func `the gateway's word that the agent failed before its reply is an error, not a text`() {
        let messages = page(
            #"""
            {"role":"user","content":"hi","timestamp":1795000000000},
            {"role":"assistant","content":[{"type":"text","text":"⚠️ Agent failed before reply: no plugin"}],"stopReason":"stop","model":"gateway-injected","timestamp":1795000001000}
            """#
        )
        #expect(messages.map(\.state) == [.sent, .failed])
        #expect(messages[1].error == "⚠️ Agent failed before reply: no plugin")
        #expect(messages[1].text.isEmpty)
    }

    /// 2026.3.1, seen live: an abort in a run's first moments makes the gateway write the answer before once more.
    @Test func `a row that the gateway wrote by itself is of no run`() {
        let messages = page(
            #"""
            {"role":"user","content":"first","timestamp":1795000000000,"idempotencyKey":"k1:user"},
            {"role":"assistant","content":"One.","stopReason":"stop","timestamp":1795000001000},
            {"role":"user","content":"second","timestamp":1795000002000,"idempotencyKey":"k2:user"},
            {"role":"assistant","content":"One.","stopReason":"stop","model":"gateway-injected","timestamp":1795000003000},
            {"role":"user","content":"/status","timestamp":1795000004000,"idempotencyKey":"k3:user"},
            {"role":"assistant","content":"Up.","stopReason":"stop","model":"gateway-injected","timestamp":1795000005000}
            """#
        )
        #expect(messages.map(\.text) == ["first", "One.", "second", "One.", "/status", "Up."])
        #expect(messages.map(\.runID) == ["k1", "k1", "k2", nil, "k3", "k3"])
    }

    /// 2026.6.11, seen live: the next message's row stood before the gateway had completed the answer.
    @Test func `an answer that the gateway wrote once more behind the next message is of no run`() {
        let rows = { (api: String) in
            """
            {"role":"user","content":"first","timestamp":1795000000000,"idempotencyKey":"k1:user"},
            {"role":"assistant","content":"One.","stopReason":"stop","api":"openai-completions","timestamp":1795000001000},
            {"role":"user","content":"second","timestamp":1795000002000,"idempotencyKey":"k2:user"},
            {"role":"assistant","content":"One.","stopReason":"stop","api":"\(api)","timestamp":1795000003000}
            """
        }
        #expect(page(rows("cli")).map(\.runID) == ["k1", "k1", "k2", nil])
        #expect(page(rows("openai-completions")).map(\.runID) == ["k1", "k1", "k2", "k2"], "an equal answer")
    }

    @Test func `the run's own error says more than the transcript's`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "hi", now: now)
        _ = tracker.receive(
            event: "chat",
            payload: ChatFrame.make("k", 2, "error", #","errorMessage":"500 exploded""#),
            now: now
        )
        let rows = #"""
            {"role":"user","content":"hi","idempotencyKey":"k:user","timestamp":1795000000000},
            {"role":"assistant","content":"The agent run failed before producing a reply.","stopReason":"error","timestamp":1795000001000},
            {"role":"user","content":"hi","idempotencyKey":"k:user","timestamp":1795000000000},
            {"role":"assistant","content":"The agent run failed before producing a reply.","stopReason":"error","timestamp":1795000002000}
            """#
        let messages = page(rows, tracker: tracker)
        #expect(messages.map(\.role) == [.user, .assistant])
        #expect(messages[1].error == "500 exploded")
        #expect(messages[1].runID == "k")
    }

    @Test func `the partial answer of an abort is shown once, behind its question`() {
        let note =
            #"{"role":"assistant","content":[{"type":"text","text":"number 1, number"}],"timestamp":1795000002000,"idempotencyKey":"k:assistant","model":"gateway-injected","openclawAbort":{"aborted":true,"runId":"k"}}"#
        let user = #"{"role":"user","content":[{"type":"text","text":"count"}],"timestamp":1795000000000}"#
        let row =
            #"{"role":"assistant","content":[{"type":"text","text":"number 1, number "}],"stopReason":"aborted","errorMessage":"Request was aborted","timestamp":1795000000001}"#
        #expect(page("\(note),\(user),\(row)").map(\.text) == ["count", "number 1, number"])
        #expect(page("\(note),\(user)").map(\.text) == ["count", "number 1, number"])
        #expect(page("\(note),\(user)").map(\.state) == [.sent, .sent])
    }

    @Test func `attachments are listed without their content`() {
        let blocks = page(
            #"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","omitted":true,"bytes":96}],"timestamp":1795000000000}"#
        )
        #expect(blocks[0].attachments.map(\.mimeType) == ["image/png"])
        #expect(blocks[0].attachments.map(\.bytes) == [96])
        #expect(blocks[0].attachments.map(\.name) == ["image.png"])
        let paths = page(
            #"{"role":"user","content":"look","MediaPaths":["/home/x/.openclaw/media/inbound/a.png"],"MediaTypes":["image/png"],"timestamp":1795000000000}"#
        )
        #expect(paths[0].attachments.map(\.name) == ["a.png"])
    }

    @Test func `reasoning tags in a reply are hidden`() {
        #expect(ReplyText.clean("<think>hm</think>Yes.") == "Yes.")
        #expect(ReplyText.clean("<think>never closed") == "")
        #expect(ReplyText.clean("<final>Yes.</final>") == "Yes.")
        #expect(ReplyText.clean("a < b and c > d") == "a < b and c > d")
    }

    @Test func `ids are stable where the gateway gives none, and differ for equal rows`() {
        let rows =
            #"{"role":"user","content":"hi","timestamp":1795000000000},{"role":"assistant","content":"yo","timestamp":1795000000001},{"role":"user","content":"hi","timestamp":1795000000000}"#
        let first = page(rows).map(\.id)
        #expect(first == page(rows).map(\.id))
        #expect(Set(first).count == 3)
    }

    @Test func `pages go back and forth without loss or repeat`() throws {
        let rows = (0..<10).map {
            "{\"role\":\"user\",\"content\":\"m\($0)\",\"timestamp\":\(1_795_000_000_000 + $0 * 1000)}"
        }
        let page = MessagePage(
            history: json("{\"messages\":[\(rows.joined(separator: ","))]}"),
            session: main,
            tracker: RunTracker(),
            now: now
        )
        let newest = page.slice(limit: 4)
        #expect(newest.messages.map(\.text) == ["m6", "m7", "m8", "m9"])
        #expect(newest.after == nil)
        let before = try #require(newest.before.flatMap { MessageCursor($0.text) })
        let older = page.slice(limit: 4, before: before)
        #expect(older.messages.map(\.text) == ["m2", "m3", "m4", "m5"])
        let behind = try #require(older.after)
        #expect(page.slice(limit: 2, after: behind).messages.map(\.text) == ["m6", "m7"])
        let last = page.slice(limit: 4, before: older.before)
        #expect(last.messages.map(\.text) == ["m0", "m1"])
        #expect(last.before == nil)
        #expect(page.slice(limit: 4, hasOlder: true).before != nil)
        #expect(MessageCursor("rubbish") == nil)
        // Between two places, in either order.
        let places = page.messages.map { MessageCursor($0) }
        #expect(page.slice(limit: 9, before: places[5], after: places[2]).messages.map(\.text) == ["m3", "m4"])
        for place in places {
            for other in places where other.at <= place.at {
                #expect(page.slice(limit: 9, before: other, after: place).messages.isEmpty)
            }
        }
    }

    @Test func `a message has the shape of the contract`() {
        let messages = page(
            #"{"role":"assistant","content":"Hi.","timestamp":1795000000000,"__openclaw":{"id":"m1"},"idempotencyKey":"k"}"#
        )
        var writer = JSONWriter()
        messages[0].write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"id":"m1","role":"assistant","text":"Hi.","at":"2026-11-18T11:06:40.000Z","state":"sent","runId":"k"}"#
        )
    }

    @Test func `a message event is the message of its row`() throws {
        let event = SessionMessageEvent(
            json(
                #"{"sessionKey":"agent:main:main","message":{"role":"user","content":"hi","timestamp":1795000000000,"idempotencyKey":"k:user"},"messageId":"q"}"#
            )
        )
        let row = try #require(event.row)
        let message = MessagePage.message(
            row,
            session: main,
            tracker: RunTracker(),
            sent: [SentMessage(id: "e", keys: ["k"], text: "hi")],
            now: now
        )
        #expect(message?.message.id == "e")
        #expect(message?.message.text == "hi")
        #expect(message?.isOurs == true)
    }

    private static let picture =
        #"{"role":"user","content":[{"type":"text","text":"[User sent media without caption]"},{"type":"image","mimeType":"image/png","omitted":true,"bytes":92}],"timestamp":1795000000000,"__openclaw":{"id":"c39bc5d0"}}"#

    /// 2026.4.26, seen live.
    @Test func `a picture without words keeps its entry's id, its text and its file`() {
        let file = MessageAttachment(name: "dot.png", mimeType: "image/png", bytes: 67)
        let own = SentMessage(id: "e", keys: ["k"], text: "", attachments: [file], written: .row(sentAt: time(-1)))
        let messages = page(Self.picture, sent: [own])
        #expect(messages.map(\.id) == ["e"])
        #expect(messages.map(\.text) == [""])
        #expect(messages.map(\.attachments) == [[file]])
    }

    @Test func `the row of a second picture is not that of the first, whose row is known`() throws {
        let event = SessionMessageEvent(json(#"{"sessionKey":"agent:main:main","message":\#(Self.picture)}"#))
        func message(rows: [String?]) throws -> String? {
            let own = rows.enumerated().map { number, row in
                SentMessage(id: "e\(number)", keys: [], text: "", written: .row(sentAt: time(-1)), row: row)
            }
            let row = try #require(event.row)
            return MessagePage.message(row, session: main, tracker: RunTracker(), sent: own, now: now)?.message.id
        }
        #expect(try message(rows: ["a0000000", nil]) == "e1")
        #expect(try message(rows: ["c39bc5d0", nil]) == "e0")
        #expect(try message(rows: ["a0000000"]) == "c39bc5d0", "another client's, seen live on 2026.4.26")
    }

    /// 2026.6.11, seen live: the prompt with which a restarted gateway goes on has our words and no key.
    @Test func `the row of a restarted gateway's prompt is our message's, whose first row is known`() throws {
        let text =
            "[Queued user message that arrived while the previous turn was still active]\\nhello\\n\\n[System] Your previous "
            + "turn was interrupted by a gateway restart while OpenClaw was waiting."
        let content = #"[{"type":"text","text":"\#(text)"}]"#
        let row = try #require(
            TranscriptRow(
                json(#"{"role":"user","content":\#(content),"timestamp":1795000000000,"__openclaw":{"id":"efc2ce12"}}"#)
            )
        )
        let own = SentMessage(id: "e", keys: [], text: "hello", written: .always, row: "30f82c76")
        let found = MessagePage.message(row, session: main, tracker: RunTracker(), sent: [own], now: now)
        #expect(found?.message.id == "e" && found?.isOurs == true)
    }

    // MARK: small rules

    @Test(arguments: [
        "stop", "STOP!", " /stop ", "/stop", "Please stop.", "esc", "wait…", "abort", "halt", "do not do that",
        "Stop don’t do anything",
        "detente", "arrête", "стоп", "停止。", "exit",
    ])
    func `a stop word is recognised`(text: String) {
        #expect(StopWords.matches(text))
    }

    @Test(arguments: [
        "stop the music", "wait for me", "please stop the car", "/status", "", "   ", "stopping", "don't stop",
        "/stopwatch",
    ])
    func `other messages are none`(text: String) {
        #expect(!StopWords.matches(text))
    }
}

struct RecordedHistoryTests {
    private func messages(_ name: String) throws -> [ChatMessage] {
        let capture = try Capture(named: name)
        let replay = capture.replay()
        var found: [ChatMessage] = []
        for case (_, .history(let session, let page)) in capture.entries {
            found =
                MessagePage(
                    page,
                    session: replay.tracker.defaults.tolerant(session),
                    tracker: replay.tracker,
                    now: Timestamp(milliseconds: 0)
                ).messages
        }
        return found
    }

    @Test func `an aborted turn of either protocol is the question and one partial answer`() throws {
        for name in ["history-after-abort.v2026.3.1", "history-after-abort.v2026.6.11"] {
            let messages = try messages(name)
            #expect(messages.map(\.text) == ["slow count please", "number 1, number 2, number 3,"], "\(name)")
            #expect(messages.map(\.role) == [.user, .assistant], "\(name)")
            #expect(messages[1].steps.map(\.label) == ["Counted slowly"], "\(name)")
        }
    }

    @Test func `a failed turn is the question and the provider's words`() throws {
        for (name, error) in [
            ("chat-error-400.v2026.3.1", "400 This model does not support that parameter"),
            ("chat-error-400.v2026.6.11", "LLM request failed: provider rejected the request schema or tool payload."),
            ("chat-error-500.v2026.6.11", "500 fake provider exploded (500)"),
        ] {
            let messages = try messages(name)
            #expect(messages.map(\.role) == [.user, .assistant], "\(name)")
            #expect(messages.last?.error == error, "\(name)")
            #expect(messages.last?.state == .failed, "\(name)")
        }
    }

    @Test func `the long transcripts hold no verbose switch, no empty message and no double`() throws {
        for name in ["chat-history.v2026.3.1", "chat-history.v2026.6.11"] {
            let messages = try messages(name)
            #expect(messages.count > 30, "\(name)")
            #expect(Set(messages.map(\.id)).count == messages.count)
            for message in messages {
                #expect(!message.isEmpty)
                #expect(!message.text.hasPrefix("/verbose") && !message.text.contains("Verbose logging"))
                #expect(!message.text.hasPrefix("System: ["))
            }
            #expect(messages.contains { $0.text == "please think about it" })
            let weather = messages.filter { $0.text.hasPrefix("It is **sunny**") }
            #expect(weather.count >= 2, "\(name)")
            let both = try #require(messages.first { $0.text == "Both tools are done." })
            #expect(both.steps.filter { $0.kind == .tool }.map { $0.tool ?? "" } == ["exec", "read"], "\(name)")
            #expect(both.steps.contains { $0.label == "I need two tools" }, "\(name)")
        }
    }
}
