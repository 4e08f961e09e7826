import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// A session whose conversation is replaced by a new one.
struct NewConversationTests: EvidenceScene {
    @Test(arguments: [false, true])
    func `a run whose conversation was replaced ends as its last row says`(isAnswered: Bool) {
        var tracker = RunTracker()
        tracker.profile = april
        let start = changed(#""phase":"start","runId":"k","ts":1795000000000,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, "Hello two"), now: after(100))
        if isAnswered {
            let row = #""messageId":"a1","message":\#(answer("Hello two", at: 200))"#
            _ = tracker.receive(event: "session.message", payload: changed(row), now: after(200))
        }
        let reset = changed(#""reason":"reset","sessionId":"c2""#)
        #expect(ends(tracker.receive(event: "sessions.changed", payload: reset, now: after(300))).isEmpty)
        let wantsPage = tracker.takePageRequest()
        #expect(wantsPage)
        let other = page([user("/new", at: 2_000), answer("Foreign.", at: 2_100)], id: "c2")
        let run = ends(tracker.receive(history: other, session: main, now: after(2_500))).first
        #expect(run?.state == (isAnswered ? .completed : .aborted) && run?.text == "Hello two")
    }

    /// 2026.4.26, seen live: two clients began a session at one time, and the gateway wrote the run's rows to another conversation than it had
    /// named. The run was told as stopped while it was at work.
    @Test func `a run whose own row stands in another conversation than its start named goes on`() {
        var tracker = RunTracker()
        tracker.profile = april
        let start = changed(#""phase":"start","runId":"k","ts":1795000000009,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds + 9), now: now)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: after(20))
        let begun = tracker.receive(history: page([user("five", at: 0)], id: "c2"), session: main, now: after(500))
        #expect(ends(begun).isEmpty)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 9, "Five."), now: after(900))
        #expect(tracker.run("k")?.state == .completed && tracker.run("k")?.text == "Five.")
    }

    /// 2026.3.1 stops the run dead and tells nobody of the reset.
    @Test func `a run of the oldest release ends when a later page shows another conversation`() {
        var tracker = half(march, isDelivered: false)
        let wantsPage = tracker.takePageRequest()
        #expect(wantsPage, "only a page shows in which conversation the run began")
        _ = tracker.receive(history: page([user("story", at: 0)]), session: main, now: after(100))
        #expect(tracker.looks(after(20_000)) == [main])
        let changes = tracker.receive(history: page([], id: "c2"), session: main, now: after(20_100))
        let run = ends(changes).first
        #expect(run?.state == .aborted && run?.text == "Half of")
        #expect(changes.contains(.proven("k", .end)))
    }

    @Test func `a run of the oldest release that begins in a new conversation goes on`() {
        var tracker = RunTracker()
        tracker.profile = march
        _ = tracker.receive(history: page([]), session: main, now: now)
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        for wait in [100, 20_000] as [Int64] {
            let changes = tracker.receive(history: page([], id: "c2"), session: main, now: after(wait))
            #expect(ends(changes).isEmpty)
        }
    }

    @Test func `a run of the oldest release ends with a reset that Ladle asked for`() {
        var tracker = half(march)
        _ = tracker.conversationEnded(main, now: after(300))
        let run = ends(tracker.receive(history: page([], id: "c2"), session: main, now: after(400))).first
        #expect(run?.state == .aborted && run?.text == "Half of")
        #expect(run?.mayReturn == false, "the next message begins another conversation")
        // Newer releases say which conversation it is that ends.
        var newer = half(april)
        #expect(newer.conversationEnded(main, now: after(300)).isEmpty)
    }

    @Test func `what stands in a whole transcript without a user's row is nobody's answer`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.followRun("k", session: main, startedAt: now, message: "four", now: after(9_000))
        tracker.linkOpened(process: .same, now: after(9_000))
        let other = page([answer("Hello! You said:", at: 8_000)], id: "c2")
        #expect(ends(tracker.receive(history: other, session: main, now: after(9_100))).isEmpty)
        #expect(tracker.run("k")?.text.isEmpty == true)
    }

    @Test func `of a run whose session was reset while nobody saw it the end is unknown`() {
        var tracker = RunTracker()
        tracker.profile = april
        let start = changed(#""phase":"start","runId":"k","ts":1795000000000,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        tracker.linkLost()
        tracker.linkOpened(process: .same, now: after(9_000))
        let other = page([user("five", at: 8_000), answer("Five.", at: 8_100)], id: "c2")
        let run = ends(tracker.receive(history: other, session: main, now: after(9_100))).first
        #expect(run?.state == .failed && run?.error == Ending.unseenEnd)
    }

    @Test func `a run whose message the gateway lost with its conversation goes on when the message is sent again`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.sent("k", session: main, text: "four", now: now)
        let start = changed(#""phase":"start","runId":"k","ts":1795000000000,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        tracker.linkLost()
        tracker.linkOpened(process: .other, now: after(9_000))
        #expect(ends(tracker.receive(history: page([], id: "c2"), session: main, now: after(9_100))).isEmpty)
        _ = tracker.awaitsResend("k")
        tracker.sent("k", session: main, text: "four", now: after(9_200))
        let again = AgentFrame.start("k", after(9_300).milliseconds)
        _ = tracker.receive(event: "agent", payload: again, now: after(9_300))
        _ = tracker.receive(event: "agent", payload: AgentFrame.end("k", 2, at: 9_500), now: after(9_500))
        let final = ChatFrame.final("k", 3, "Four.")
        let run = ends(tracker.receive(event: "chat", payload: final, now: after(9_510))).first
        #expect(run?.state == .completed && run?.text == "Four.")
    }

    @Test func `a message that is not sent again after its conversation was lost leaves no run behind`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.sent("k", session: main, text: "four", now: now)
        let start = changed(#""phase":"start","runId":"k","ts":1795000000000,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        tracker.linkLost()
        tracker.linkOpened(process: .other, now: after(9_000))
        #expect(ends(tracker.receive(history: page([], id: "c2"), session: main, now: after(9_100))).isEmpty)
        let run = ends(tracker.lost("k", now: after(9_200))).first
        #expect(run?.state == .failed && run?.code == .interrupted)
    }

    @Test func `a message that is lost before its run began leaves nothing that waits`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "four", now: now)
        tracker.relink(process: .other, now: after(9_000))
        #expect(tracker.run("k")?.state == .queued)
        #expect(tracker.lost("k", now: after(9_200)) == [.dropped("k", session: main)])
        #expect(tracker.run("k") == nil)
    }

    // MARK: Nothing of the new one is on disk yet

    private func row(_ text: String, key: String, number: Int) -> JSONValue {
        json(
            #"{"sessionKey":"agent:main:main","messageId":"m\#(number)","messageSeq":\#(number),"message":"#
                + #"{"role":"user","content":"\#(text)","timestamp":1795000000000,"idempotencyKey":"\#(key):user"}}"#
        )
    }

    private func tracker() -> RunTracker {
        var tracker = RunTracker()
        tracker.sent("one", session: main, text: "first", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("one"), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("one", 9, "Yes."), now: now)
        for (id, words) in [("two", "second"), ("three", "third")] {
            tracker.sent(id, session: main, text: words, now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start(id), now: now)
        }
        return tracker
    }

    @Test func `a message behind others is proven by the event of its row`() {
        var tracker = tracker()
        let changes = tracker.receive(event: "session.message", payload: row("second", key: "two", number: 3), now: now)
        #expect(changes == [.proven("two", .rowEvent)])
    }

    @Test func `the first message of a new conversation is not`() {
        var tracker = tracker()
        let changes = tracker.receive(event: "session.message", payload: row("second", key: "two", number: 1), now: now)
        #expect(changes.isEmpty)
        let next = tracker.receive(event: "session.message", payload: row("third", key: "three", number: 2), now: now)
        #expect(next.isEmpty, "the row before it has no answer yet")
    }
}
