import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// Transcripts as gateways left them after aborts, retries and restarts. The rows are recorded; members that nothing reads
/// are left out.
struct HistoryTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_346_400_000)

    private func page(_ rows: String, tracker: RunTracker = RunTracker(), sent: [SentMessage] = []) -> [ChatMessage] {
        MessagePage(history: json("{\"messages\":[\(rows)]}"), session: main, tracker: tracker, sent: sent, now: now)
            .messages
    }

    // MARK: Aborts

    @Test(arguments: [
        // 2026.3.1
        #"""
        {"role":"user","content":[{"type":"text","text":"longtool please"}],"timestamp":1795346308899},
        {"role":"assistant","content":[{"type":"text","text":"This takes a while. "},{"type":"toolCall","id":"call_0ff2849393","name":"exec","arguments":{"command":"sleep 15; echo slept"}}],"stopReason":"toolUse","timestamp":1795346308900},
        {"role":"assistant","content":[{"type":"text","text":"This takes a while."}],"timestamp":1795346312066,"stopReason":"stop","model":"gateway-injected","idempotencyKey":"01a202fa-9eb4-7391-9b0c-607c73de56e9:assistant","openclawAbort":{"aborted":true,"origin":"rpc","runId":"01a202fa-9eb4-7391-9b0c-607c73de56e9"}},
        {"role":"toolResult","toolCallId":"call_0ff2849393","toolName":"exec","content":[{"type":"text","text":"Command aborted by signal SIGTERM"}],"isError":true,"timestamp":1795346312078},
        {"role":"assistant","content":[],"stopReason":"aborted","timestamp":1795346312078,"errorMessage":"Request was aborted."}
        """#,
        // 2026.4.26
        #"""
        {"role":"user","content":[{"type":"text","text":"longtool please"}],"timestamp":1795346879776,"__openclaw":{"id":"0561aff7","seq":3}},
        {"role":"assistant","content":[{"type":"text","text":"This takes a while. "},{"type":"toolCall","id":"call_b7256e148a","name":"exec","arguments":{"command":"sleep 15; echo slept"}}],"stopReason":"toolUse","timestamp":1795346879795,"__openclaw":{"id":"e4f03f7d","seq":4}},
        {"role":"assistant","content":[{"type":"text","text":"This takes a while."}],"timestamp":1795346882956,"stopReason":"stop","model":"gateway-injected","idempotencyKey":"01a20303-3806-72ed-bd9e-aa5d42dcb8b6:assistant","openclawAbort":{"aborted":true,"origin":"rpc","runId":"01a20303-3806-72ed-bd9e-aa5d42dcb8b6"},"__openclaw":{"id":"4cd7caf9","seq":5}},
        {"role":"toolResult","toolCallId":"call_b7256e148a","toolName":"exec","content":[{"type":"text","text":"Command aborted by signal SIGTERM"}],"isError":true,"timestamp":1795346882993,"__openclaw":{"id":"9e981c6d","seq":6}},
        {"role":"assistant","content":[],"stopReason":"aborted","timestamp":1795346882994,"errorMessage":"Request was aborted.","__openclaw":{"id":"c7d4ee2e","seq":7}}
        """#,
    ])
    func `an abort inside a tool leaves the partial text once`(rows: String) {
        #expect(page(rows).map(\.text) == ["longtool please", "This takes a while."])
        #expect(page(rows).map(\.state) == [.sent, .sent])
        #expect(page(rows)[1].steps.map(\.tool) == ["exec"])
    }

    @Test func `an abort of a stream leaves the partial text once, and other turns with equal words stay`() {
        let rows = #"""
            {"role":"user","content":[{"type":"text","text":"slow story"}],"timestamp":1795346330654},
            {"role":"assistant","content":[{"type":"text","text":"tick0 tick1 tick2 "}],"stopReason":"aborted","timestamp":1795346330655,"errorMessage":"Request was aborted"},
            {"role":"user","content":[{"type":"text","text":"slow story"}],"timestamp":1795346340654},
            {"role":"assistant","content":[{"type":"text","text":"tick0 tick1 tick2"}],"timestamp":1795346344528,"stopReason":"stop","model":"gateway-injected","idempotencyKey":"01a202fa-f395-7e08-8f72-c764f4846b09:assistant","openclawAbort":{"aborted":true,"runId":"01a202fa-f395-7e08-8f72-c764f4846b09"}}
            """#
        #expect(page(rows).map(\.text) == ["slow story", "tick0 tick1 tick2", "slow story", "tick0 tick1 tick2"])
    }

    /// 2026.6.11, seen live: the next message had been accepted before the stop, and its row stands behind the note.
    @Test func `the note of an abort stays before the next question`() {
        let rows = #"""
            {"role":"user","content":"one","timestamp":1796039554524,"idempotencyKey":"k1:user","__openclaw":{"id":"r1"}},
            {"role":"assistant","content":[{"type":"text","text":"First I l"}],"timestamp":1796039561340,"stopReason":"stop","model":"gateway-injected","idempotencyKey":"k1:assistant","openclawAbort":{"aborted":true,"runId":"k1"},"__openclaw":{"id":"r2"}},
            {"role":"user","content":"two","timestamp":1796039561160,"idempotencyKey":"k2:user","__openclaw":{"id":"r3"}},
            {"role":"assistant","content":[{"type":"text","text":"Reply"}],"timestamp":1796039565411,"stopReason":"stop","__openclaw":{"id":"r4"}}
            """#
        #expect(page(rows).map(\.text) == ["one", "First I l", "two", "Reply"])
    }

    // MARK: Retries

    @Test func `a context overflow is one question, one notice and one error`() {
        // 2026.6.11: four compactions, each followed by the question again.
        let key = "01a20301-c471-7ae2-be1c-f1ec98fbb7e6"
        let failed = "The agent run failed before producing a reply."
        let tries = [
            ("9c854149", "02477906", "4a4d32f6", "b672db8f"), ("d6522db2", "37ec0f4e", "ffd2df3a", "02277569"),
        ]
        let rows = tries.map { question, first, notice, second in
            """
            {"role":"user","content":"failctx please","timestamp":1795346777213,"idempotencyKey":"\(key):user","__openclaw":{"id":"\(question)"}},
            {"role":"assistant","content":[{"type":"text","text":"\(failed)"}],"stopReason":"error","timestamp":1795346778694,"__openclaw":{"id":"\(first)"}},
            {"role":"system","content":[{"type":"text","text":"Compaction"}],"timestamp":1795346779270,"__openclaw":{"kind":"compaction","id":"\(notice)"}},
            {"role":"assistant","content":[{"type":"text","text":"\(failed)"}],"stopReason":"error","timestamp":1795346779327,"__openclaw":{"id":"\(second)"}}
            """
        }
        let messages = page(rows.joined(separator: ","))
        #expect(messages.map(\.role) == [.user, .system, .assistant])
        #expect(messages.map(\.id) == ["9c854149", "ffd2df3a", "02277569"])
        #expect(messages.last?.error == failed)
        let own = SentMessage(id: "entry", keys: [key], text: "failctx please")
        #expect(page(rows.joined(separator: ","), sent: [own]).map(\.id) == ["entry", "ffd2df3a", "02277569"])
    }

    @Test(arguments: [
        // 2026.3.1
        #"""
        {"role":"user","content":[{"type":"text","text":"flaky3 9e66"}],"timestamp":1795346138235},
        {"role":"assistant","content":[],"stopReason":"error","timestamp":1795346138236,"errorMessage":"500 The server had an error while processing your request"},
        {"role":"assistant","content":[{"type":"text","text":"Flaky answer after 3 failures."}],"stopReason":"stop","timestamp":1795346141567}
        """#,
        // 2026.6.11
        #"""
        {"role":"user","content":"flaky3 9e66","timestamp":1795346342036,"idempotencyKey":"01a202fb-2089-70c7-86cc-af643c3da940:user","__openclaw":{"id":"f5ca7e66","seq":3}},
        {"role":"assistant","content":[{"type":"text","text":"The agent run failed before producing a reply."}],"stopReason":"error","timestamp":1795346342861,"__openclaw":{"id":"02605e71","seq":4}},
        {"role":"user","content":"flaky3 9e66","timestamp":1795346342036,"idempotencyKey":"01a202fb-2089-70c7-86cc-af643c3da940:user","__openclaw":{"id":"69bcd014","seq":5}},
        {"role":"assistant","content":[{"type":"text","text":"Flaky answer after 3 failures."}],"stopReason":"stop","timestamp":1795346347311,"__openclaw":{"id":"6d27a85b","seq":6}}
        """#,
    ])
    func `a try that a later one made good is not shown`(rows: String) {
        #expect(page(rows).map(\.text) == ["flaky3 9e66", "Flaky answer after 3 failures."])
        #expect(page(rows).map(\.state) == [.sent, .sent])
    }

    // MARK: Long texts

    private static let words = (0..<4_230).map { "w" + String(100_000 + $0).dropFirst() }.joined(separator: " ")

    private func longAnswer(cutAt characters: Int) -> String {
        let text = Self.words.prefix(characters) + "\\n...(truncated)..."
        return """
            {"role":"user","content":[{"type":"text","text":"longanswer please"}],"timestamp":1795000001000},
            {"role":"assistant","content":[{"type":"text","text":"\(text)"}],"stopReason":"stop","timestamp":1795000001001}
            """
    }

    @Test(arguments: [8_000, 12_000])
    func `a text that the gateway cut is marked`(characters: Int) throws {
        let message = try #require(page(longAnswer(cutAt: characters)).last)
        #expect(message.isTruncated)
        #expect(Self.words.hasPrefix(message.text) && message.text.count >= characters - 1)
        var writer = JSONWriter()
        message.write(to: &writer)
        #expect(String(decoding: writer.bytes, as: UTF8.self).contains(#","truncated":true,"at":"#))
    }

    @Test func `a run that was followed has its text whole`() throws {
        var tracker = RunTracker()
        let start = Timestamp(milliseconds: 1_795_000_001_000)
        tracker.sent("k", session: main, text: "longanswer please", now: start)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", start.milliseconds), now: start)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 9, Self.words), now: start)
        let message = try #require(page(longAnswer(cutAt: 8_000), tracker: tracker).last)
        #expect(message.runID == "k")
        #expect(!message.isTruncated)
        #expect(message.text == Self.words)
    }

    @Test func `a long message of ours is whole`() {
        let rows =
            #"{"role":"user","content":"\#(Self.words.prefix(8_000))\n...(truncated)...","timestamp":1795346346616}"#
        #expect(page(rows).map(\.isTruncated) == [true])
        let time = Timestamp(milliseconds: 1_795_346_346_000)
        let own = SentMessage(id: "entry", keys: [], text: Self.words, written: ClockWindow(from: time, to: now))
        #expect(page(rows, sent: [own]).map(\.text) == [Self.words])
        #expect(page(rows, sent: [own]).map(\.isTruncated) == [false])
    }

    // MARK: Attachments

    private func pictures(_ file: String, _ type: String) -> String {
        #"{"role":"user","content":"look at it","timestamp":1795345693520,"idempotencyKey":"01a202f1-3b4b-7cee-abe7-6212908ae241:user","MediaPath":"/home/demo/.openclaw/media/inbound/\#(file)","MediaPaths":["/home/demo/.openclaw/media/inbound/\#(file)"],"MediaType":"\#(type)","MediaTypes":["\#(type)"],"__openclaw":{"id":"229ae4a4","seq":1}}"#
    }

    @Test(arguments: [
        ("f19834f4-6484-46d5-9c19-66e473ca7f2f.png", "image/png", "image.png"),
        ("list---8860d1a4-711d-4800-869a-bf0ea3c91b81.txt", "text/plain", "list.txt"),
        ("f19834f4-6484-46d5-9c19-66e473ca7f2f", "audio/mpeg", "audio.mp3"),
        ("f19834f4-6484-46d5-9c19-66e473ca7f2f.pdf", "application/pdf", "file.pdf"),
        ("sk-abcdefghij0123456789abcdefghij0123456789.jpg", "image/jpeg", "image.jpg"),
        ("notes.md", "text/markdown", "notes.md"),
    ])
    func `a stranger's file has a readable name`(file: String, type: String, name: String) {
        #expect(page(pictures(file, type)).first?.attachments.map(\.name) == [name])
    }

    @Test func `a file of ours has the name that its sender gave`() {
        let files = [MessageAttachment(name: "holiday.png", mimeType: "image/png", bytes: 96)]
        let own = SentMessage(
            id: "01a202f1-3b4b-7cee-abe7-6212908ae241",
            keys: ["01a202f1-3b4b-7cee-abe7-6212908ae241"],
            text: "look at it",
            attachments: files
        )
        let rows = pictures("f19834f4-6484-46d5-9c19-66e473ca7f2f.png", "image/png")
        #expect(page(rows, sent: [own]).first?.attachments == files)
    }

    // MARK: Our messages without keys

    private func said(_ text: String, _ time: Int64, key: String? = nil) -> String {
        let members = key.map { #","idempotencyKey":"\#($0):user""# } ?? ""
        return #"{"role":"user","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(time)\#(members)}"#
    }

    private func sent(_ id: String, _ text: String, at time: Int64, row: String? = nil) -> SentMessage {
        let start = Timestamp(milliseconds: time)
        return SentMessage(
            id: id,
            keys: [id],
            text: text,
            written: ClockWindow(from: start, to: start.adding(milliseconds: 60_000)),
            row: row
        )
    }

    @Test func `of equal words the first one sent has the first row, and a key speaks for another sender`() {
        let rows = [
            said("yes", 1_795_346_300_000, key: "phone"), said("yes", 1_795_346_301_000),
            said("[Sun 2026-11-22 11:19 UTC]  yes ", 1_795_346_302_000), said("yes", 1_795_346_999_000),
        ]
        let own = [sent("a", "yes", at: 1_795_346_299_000), sent("b", "yes\u{7}", at: 1_795_346_299_000)]
        let ids = page(rows.joined(separator: ","), sent: own).map(\.id)
        #expect(ids.filter { $0 == "a" || $0 == "b" } == ["a", "b"])
        #expect(Array(ids[1...2]) == ["a", "b"])
    }

    @Test func `a message that was found before keeps its row`() throws {
        let first = MessagePage(
            history: json("{\"messages\":[\(said("yes", 1_795_346_301_000))]}"),
            session: main,
            tracker: RunTracker(),
            sent: [sent("a", "yes", at: 1_795_346_299_000)],
            now: now
        )
        let row = try #require(first.rows["a"])
        let rows = [said("yes", 1_795_346_300_500), said("yes", 1_795_346_301_000)]
        let again = page(
            rows.joined(separator: ","),
            sent: [sent("a", "yes", at: 1_795_346_299_000, row: row)]
        )
        #expect(again.last?.id == "a" && again.first?.id != "a")
    }

    /// 2026.3.1, seen live: a page that was read just after the sending had only another client's row, with the same words.
    @Test func `a message has the row with which its run began, and not one that was taken for it`() throws {
        let start: Int64 = 1_795_346_301_000
        let other = said("yes", start - 1_700)
        let message = sent("a", "yes", at: start - 2_000)
        let history = json("{\"messages\":[\(other)]}")
        let first = MessagePage(history: history, session: main, tracker: RunTracker(), sent: [message], now: now)
        let row = try #require(first.rows["a"])
        let answers = [Int64(-1_600), 100].map {
            #"{"role":"assistant","content":"Yes \#($0).","stopReason":"stop","timestamp":\#(start + $0)}"#
        }
        var tracker = RunTracker()
        let time = Timestamp(milliseconds: start)
        tracker.sent("a", session: main, text: "yes", now: time)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a", start), now: time)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("a", 9, "Yes 100."), now: time)
        let shown = page(
            [other, answers[0], said("yes", start), answers[1]].joined(separator: ","),
            tracker: tracker,
            sent: [sent("a", "yes", at: start - 2_000, row: row)]
        )
        #expect(shown.map(\.runID) == [nil, nil, "a", "a"])
        #expect(shown.map { $0.id == "a" } == [false, false, true, false])
    }

    @Test func `what was sent through us is shown, and its answer too, whatever words it has`() {
        let frame = #"---IDENTITY---\n# A\n---USER---\n# B\n---END---"#
        for words in [
            frame, "/verbose on", "[Inter-session message] sourceSession=x",
            "Pre-compaction memory flush. Store durable memories",
        ] {
            let rows =
                said(words, 1_795_346_301_000)
                + #",{"role":"assistant","content":"\#(frame)","stopReason":"stop","timestamp":1795346302000}"#
            #expect(page(rows).count < 2, "\(words)")
            let text = words.replacingText("\\n", with: "\n")
            #expect(page(rows, sent: [sent("a", text, at: 1_795_346_300_000)]).count == 2, "\(words)")
        }
    }

    /// 2026.4.26, seen live after a restart of Ladle: the entry names the run with which the gateway went on.
    @Test func `the gateway's own prompt is not shown as the message whose answer follows it`() {
        let notice =
            #"[Queued user message that arrived while the previous turn was still active]\n[Wed 2026-11-25 04:33 UTC] [System] "#
            + "Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. Continue."
        let rows = [
            said("slow story", 1_795_346_200_000), said(notice, 1_795_346_240_000),
            #"{"role":"assistant","content":"Whole.","stopReason":"stop","timestamp":1795346245000}"#,
        ]
        var tracker = RunTracker()
        tracker.followRun("own-run", session: main, startedAt: Timestamp(milliseconds: 1_795_346_240_000), now: now)
        var message = sent("a", "slow story", at: 1_795_346_190_000)
        message.keys.append("own-run")
        let shown = page(rows.joined(separator: ","), tracker: tracker, sent: [message])
        #expect(shown.map(\.text) == ["slow story", "Whole."])
        #expect(shown.first?.id == "a")
        #expect(shown.last?.runID == "own-run")
    }

    @Test func `a message that a restarted gateway took up again shows its words alone`() {
        let rows =
            #"{"role":"user","content":[{"type":"text","text":"[Queued user message that arrived while the previous turn was still active]\nslow story\n\n[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. Continue from the existing transcript and finish the interrupted response."}],"timestamp":1795346204847,"__openclaw":{"id":"32ee8f23","seq":3}}"#
        #expect(page(rows).map(\.text) == ["slow story"])
        #expect(page(rows, sent: [sent("a", "slow story", at: 1_795_346_190_000)]).map(\.id) == ["a"])
    }
}
