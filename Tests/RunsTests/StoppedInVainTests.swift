import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// A gateway that says it has stopped a run, and then works on it, as 2026.4.26 does when the abort comes within 100 ms.
struct StoppedInVainTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let sent = Timestamp(milliseconds: 1_795_000_000_000)

    private func later(_ milliseconds: Int64) -> Timestamp { sent.adding(milliseconds: milliseconds) }

    private func row(_ role: String, _ text: String, at time: Int64, _ more: String = "") -> String {
        #"{"role":"\#(role)","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(later(time).milliseconds),"#
            + #""__openclaw":{"id":"\#(role)\#(time)"}\#(more)}"#
    }

    private func event(_ row: String) -> JSONValue {
        json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(row)}"#)
    }

    /// The run is stopped before its work, and begins all the same.
    private func stopped(begins: Bool = true) -> (tracker: RunTracker, ends: [RunChange]) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent("one", session: main, text: "tell it", now: sent)
        let aborted = json(
            #"{"runId":"one","sessionKey":"agent:main:main","seq":1,"state":"aborted","stopReason":"rpc"}"#
        )
        let ends = tracker.receive(event: "chat", payload: aborted, now: later(40))
        let start = AgentFrame.start("one", later(90).milliseconds)
        if begins { _ = tracker.receive(event: "agent", payload: start, now: later(91)) }
        return (tracker, ends)
    }

    private func answer(at time: Int64) -> String {
        row("assistant", "the whole story", at: time, #","stopReason":"stop""#)
    }

    @Test func `the whole answer in the transcript corrects the end`() throws {
        var (tracker, ends) = stopped()
        #expect(ends.contains { if case .ended(let run) = $0 { run.state == .aborted } else { false } })
        #expect(tracker.run("one")?.state == .aborted)
        let user = row("user", "tell it", at: 90)
        _ = tracker.receive(event: "session.message", payload: event(user), now: later(92))
        #expect(tracker.looks(later(5_000)).isEmpty, "nothing new is to be seen yet")
        _ = tracker.receive(event: "session.message", payload: event(answer(at: 13_000)), now: later(13_001))
        #expect(tracker.looks(later(13_600)) == [main])
        let page = json(#"{"messages":[\#(user),\#(answer(at: 13_000))],"hasMore":false}"#)
        let changes = tracker.receive(history: page, session: main, now: later(13_700))
        let corrected = changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }
        let run = try #require(corrected.first)
        #expect(run.state == .completed)
        #expect(run.text == "the whole story")
        #expect(run.endedAt == later(13_000))
        #expect(tracker.looks(later(60_000)).isEmpty)
    }

    /// 2026.4.26, seen live.
    @Test func `the corrected run has all that the agent said and did`() throws {
        var (tracker, _) = stopped()
        let call = #"{"type":"toolCall","id":"c1","name":"exec","arguments":{"command":"date"}}"#
        let thinking =
            #"{"role":"assistant","content":[{"type":"text","text":"I look first."},\#(call)],"#
            + #""timestamp":\#(later(5_000).milliseconds),"stopReason":"toolUse","__openclaw":{"id":"a1"}}"#
        let result =
            #"{"role":"toolResult","toolCallId":"c1","toolName":"exec","content":[{"type":"text","text":"now"}],"#
            + #""timestamp":\#(later(6_000).milliseconds),"isError":false,"__openclaw":{"id":"t1"}}"#
        let rows = [row("user", "tell it", at: 90), thinking, result, answer(at: 13_000)]
        for row in rows.dropFirst() {
            _ = tracker.receive(event: "session.message", payload: event(row), now: later(13_001))
        }
        let page = json(#"{"messages":[\#(rows.joined(separator: ","))],"hasMore":false}"#)
        let changes = tracker.receive(history: page, session: main, now: later(13_700))
        let corrected = changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }
        let run = try #require(corrected.first)
        #expect(run.text == "I look first.\n\nthe whole story")
        #expect(run.steps.map(\.toolCallID) == ["c1"])
    }

    @Test func `a partial answer leaves it aborted`() {
        var (tracker, _) = stopped()
        let note = row("assistant", "the whole", at: 13_000, #","openclawAbort":{"aborted":true,"runId":"one"}"#)
        let page = json(#"{"messages":[\#(row("user", "tell it", at: 90)),\#(note)],"hasMore":false}"#)
        let changes = tracker.receive(history: page, session: main, now: later(13_700))
        #expect(!changes.contains { if case .corrected = $0 { true } else { false } })
    }

    @Test func `an answer to a later message is not its own`() {
        var (tracker, _) = stopped()
        tracker.sent("two", session: main, text: "and this", now: later(1_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("two", later(1_100).milliseconds),
            now: later(1_100)
        )
        let rows = [row("user", "tell it", at: 90), row("user", "and this", at: 1_100), answer(at: 2_000)]
        let page = json(#"{"messages":[\#(rows.joined(separator: ","))],"hasMore":false}"#)
        _ = tracker.receive(history: page, session: main, now: later(2_500))
        #expect(tracker.run("one")?.state == .aborted)
    }

    @Test func `a run that was stopped a minute before is not looked for`() {
        var (tracker, _) = stopped(begins: false)
        _ = tracker.receive(event: "session.message", payload: event(answer(at: 63_000)), now: later(63_001))
        #expect(tracker.looks(later(63_600)).isEmpty)
    }

    /// 2026.4.26, seen live: the answer was in the transcript 130 ms before the event of its stop, which had gone out over a new link.
    @Test(arguments: [true, false])
    func `a whole answer that no event had shown corrects the end`(hasRowEvent: Bool) throws {
        var (tracker, ends) = stopped(begins: false)
        #expect(ends.contains { if case .ended(let run) = $0 { run.state == .aborted } else { false } })
        if hasRowEvent {
            _ = tracker.receive(event: "session.message", payload: event(answer(at: 20)), now: later(60))
            #expect(tracker.looks(later(600)) == [main])
        }
        let page = json(#"{"messages":[\#(row("user", "tell it", at: 10)),\#(answer(at: 20))],"hasMore":false}"#)
        let changes = tracker.receive(history: page, session: main, now: later(700))
        let corrected = changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }
        #expect(corrected.map(\.state) == [.completed])
        #expect(corrected.map(\.text) == ["the whole story"])
    }

    /// 2026.6.11, seen live: the stop came after the answer's row, and the gateway reports the run as aborted.
    @Test func `a stop behind the whole answer is held until the transcript is read`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent("one", session: main, text: "tell it", now: sent)
        let user =
            #"{"role":"user","content":"tell it","timestamp":\#(later(5).milliseconds),"idempotencyKey":"one:user"}"#
        let start = AgentFrame.start("one", later(4).milliseconds)
        _ = tracker.receive(event: "agent", payload: start, now: later(5))
        _ = tracker.receive(event: "session.message", payload: event(user), now: later(6))
        _ = tracker.receive(event: "session.message", payload: event(answer(at: 90)), now: later(90))
        var changes = tracker.receive(event: "chat", payload: ChatFrame.make("one", 4, "aborted"), now: later(200))
        #expect(!changes.contains { if case .ended = $0 { true } else { false } })
        #expect(tracker.looks(later(800)) == [main])
        let page = json(#"{"messages":[\#(user),\#(answer(at: 90))],"hasMore":false}"#)
        changes += tracker.receive(history: page, session: main, now: later(900))
        let ends = changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
        #expect(ends.map(\.state) == [.completed])
        #expect(ends.map(\.text) == ["the whole story"])
    }

    /// 2026.6.11 under load, seen live: a message that was stopped before its run began ran twenty seconds later.
    @Test
    func `the run in which the gateway answers a stopped message after all is tied to it, so that the stop can follow`()
    {
        var (tracker, _) = stopped(begins: false)
        let start = AgentFrame.start("own", later(20_000).milliseconds)
        _ = tracker.receive(event: "agent", payload: start, now: later(20_000))
        let user = row("user", "tell it", at: 10, #","idempotencyKey":"one:user""#)
        var changes = tracker.receive(event: "session.message", payload: event(user), now: later(20_700))
        #expect(changes.contains(.reassigned(from: "one", to: "own", isShared: false)))
        let corrected = changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }
        #expect(corrected.map(\.state) == [.aborted])
        #expect(corrected.map(\.continuedAs) == ["own"])
        // The stop follows, or comes too late; the rows of the turn are the new run's.
        tracker.linkLost()
        tracker.linkOpened(process: .same, now: later(26_000))
        let page = json(#"{"messages":[\#(user),\#(answer(at: 24_000))],"hasMore":false}"#)
        changes = tracker.receive(history: page, session: main, now: later(26_100))
        #expect(tracker.run("own")?.state == .completed)
        #expect(tracker.run("own")?.text == "the whole story")
        #expect(!changes.contains { if case .corrected = $0 { true } else { false } })
    }

    @Test func `a run from before the stop is not the stopped message's`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        let start = AgentFrame.start("own", later(-5_000).milliseconds)
        _ = tracker.receive(event: "agent", payload: start, now: later(-5_000))
        tracker.sent("one", session: main, text: "tell it", now: sent)
        _ = tracker.receive(event: "chat", payload: ChatFrame.make("one", 1, "aborted"), now: later(40))
        let user = row("user", "tell it", at: 10, #","idempotencyKey":"one:user""#)
        let changes = tracker.receive(event: "session.message", payload: event(user), now: later(700))
        #expect(!changes.contains { if case .reassigned = $0 { true } else { false } })
    }

    /// 2026.6.11, seen live: another client's message ran instead, and the gateway then wrote the stopped message's row.
    @Test func `a run whose own message was seen is not the stopped message's`() {
        var (tracker, _) = stopped(begins: false)
        let start = AgentFrame.start("other", later(60).milliseconds)
        _ = tracker.receive(event: "agent", payload: start, now: later(60))
        let own = row("user", "say it", at: 61, #","idempotencyKey":"other:user""#)
        _ = tracker.receive(event: "session.message", payload: event(own), now: later(62))
        let user = row("user", "tell it", at: 10, #","idempotencyKey":"one:user""#)
        let changes = tracker.receive(event: "session.message", payload: event(user), now: later(700))
        #expect(!changes.contains { if case .reassigned = $0 { true } else { false } })
    }

    /// The gateway is killed while it works on the run, and goes on with it under an id of its own.
    @Test func `the run with which a restarted gateway goes on is tied to it, so that the stop can follow`() {
        var (tracker, _) = stopped()
        tracker.deliveryIsOver("one")
        tracker.linkLost()
        tracker.linkOpened(process: .other, startedAt: later(3_000), now: later(4_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("own", later(9_000).milliseconds),
            now: later(9_000)
        )
        let words = #"[Queued user message that arrived while the previous turn was still active]\ntell it\n\n"#
        let notice = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
        let prompt = row("user", words + notice, at: 9_000)
        let changes = tracker.receive(event: "session.message", payload: event(prompt), now: later(9_001))
        #expect(changes.contains(.reassigned(from: "one", to: "own")), "\(changes)")
        #expect(tracker.run("one")?.state == .aborted)
    }
}
