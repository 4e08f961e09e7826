import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// Errors that the gateway tries again are no ends.
struct RetriedErrorTests: EvidenceScene {
    @Test func `the first error of several tries is not the run's`() {
        var tracker = half(march)
        let failure = AgentFrame.make("k", 3, "lifecycle", #"{"phase":"error","error":"500"}"#)
        _ = tracker.receive(event: "agent", payload: failure, now: after(1_000))
        let error = ChatFrame.make("k", 3, "error", #","errorMessage":"500""#)
        #expect(ends(tracker.receive(event: "chat", payload: error, now: after(1_000))).isEmpty)
        let again = AgentFrame.make("k", 5, "lifecycle", #"{"phase":"start","startedAt":1795000003000}"#)
        _ = tracker.receive(event: "agent", payload: again, now: after(3_000))
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 6, "Here it is."), now: after(3_100))
        _ = tracker.receive(event: "agent", payload: AgentFrame.end("k", 7), now: after(3_200))
        // No page comes that has the answer.
        let run = ends(tracker.tick(now: after(6_300)) + tracker.tick(now: after(36_400))).first
        #expect(run?.state == .completed && run?.text.hasSuffix("Here it is.") == true)
    }

    /// `executionSettled` of the newest gateways: otherwise an error waits a minute for another try.
    @Test(arguments: [(#","executionSettled":true"#, true), ("", false)])
    func `an error after which no try follows ends the run at once`(member: String, isSettled: Bool) {
        var tracker = half(GatewayProfile(.autumn))
        let failure = AgentFrame.make("k", 3, "lifecycle", #"{"phase":"error","error":"500"\#(member)}"#)
        _ = tracker.receive(event: "agent", payload: failure, now: after(1_000))
        #expect(ends(tracker.tick(now: after(5_000))).map(\.error) == (isSettled ? ["500"] : []))
    }

    @Test func `an error after which the gateway says that the run is over is its end`() {
        var tracker = half(march)
        let failure = AgentFrame.make("k", 3, "lifecycle", #"{"phase":"error","error":"429"}"#)
        _ = tracker.receive(event: "agent", payload: failure, now: now)
        _ = tracker.receive(
            event: "chat",
            payload: ChatFrame.make("k", 3, "error", #","errorMessage":"429""#),
            now: now
        )
        #expect(tracker.looks(after(RunContact.silence)) == [main])
        #expect(tracker.questions(main, now: after(RunContact.silence)) == [.state(of: "k")])
        _ = tracker.receive(.failed("429"), run: "k", now: after(RunContact.silence + 10))
        let rows = page([user("story", at: 0), answer("", at: 900, "error")])
        let run = ends(tracker.receive(history: rows, session: main, now: after(RunContact.silence + 100))).first
        #expect(run?.state == .failed && run?.error == "429")
    }

    /// 2026.4.26, seen live: the link broke between the error and the end of another client's run, which has an id of the gateway's own, so
    /// that `agent.wait` knows nothing of it.
    @Test func `a failed run is over once a later message of its session is answered`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.followRun("k", session: main, startedAt: now, now: after(3_000))
        tracker.linkOpened(process: .same, now: after(3_000))
        let failed = [user("story", at: 0), answer("", at: 900, "error")]
        _ = tracker.receive(history: page(failed + [user("next", at: 1_500)]), session: main, now: after(3_100))
        _ = tracker.receive(.unknown, run: "k", now: after(3_200))
        #expect(ends(tracker.tick(now: after(4_000))).isEmpty)
        let rows = page(failed + [user("next", at: 1_500), answer("Here it is.", at: 4_500)])
        let run = ends(tracker.receive(history: rows, session: main, now: after(5_000))).first
        #expect(run?.state == .failed && run?.text.isEmpty == true)
    }

    @Test func `in the pause between two tries the gateway's word of a failure is no end`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.followRun("k", session: main, startedAt: now, message: "story", now: after(3_000))
        tracker.linkOpened(process: .same, now: after(3_000))
        let rows = page([user("story", at: 0), answer("", at: 900, "error")])
        _ = tracker.receive(history: rows, session: main, now: after(3_100))
        #expect(tracker.questions(main, now: after(3_100)) == [.state(of: "k")])
        _ = tracker.receive(.failed("500"), run: "k", now: after(3_200))
        #expect(tracker.questions(main, now: after(4_000)).isEmpty)
        #expect(ends(tracker.tick(now: after(60_000))).isEmpty)
        let again = AgentFrame.make("k", 5, "lifecycle", #"{"phase":"start","startedAt":1795000061000}"#)
        _ = tracker.receive(event: "agent", payload: again, now: after(61_000))
        #expect(ends(tracker.tick(now: after(70_000))).isEmpty)
        let final = ChatFrame.make("k", 9, "final", #","message":{"role":"assistant","content":"Here it is."}"#)
        let run = ends(tracker.receive(event: "chat", payload: final, now: after(71_000))).first
        #expect(run?.state == .completed && run?.text == "Here it is.")
    }

    @Test(arguments: [false, true])
    func `a refusal that came while nobody listened is asked for`(wasKilled: Bool) {
        var tracker = RunTracker()
        if wasKilled {
            tracker.followUnseen("k", session: main, text: "two", sentAt: now, delivery: .open)
        } else {
            tracker.sent("k", session: main, text: "two", now: now)
        }
        tracker.linkOpened(process: .same, now: after(1_000))
        let rows = page([user("one", at: -900), answer("One.", at: -500)], status: "done")
        #expect(tracker.receive(history: rows, session: main, now: after(1_100)).isEmpty)
        #expect(tracker.questions(main, now: after(1_100)) == [.state(of: "k")])
        #expect(tracker.receive(.ended, run: "k", now: after(1_200)).isEmpty)
        #expect(tracker.receive(.failed("busy"), run: "k", now: after(1_300)).isEmpty)
        let reason = "Error: reply session initialization conflicted for agent:main:main"
        #expect(tracker.receive(.failed(reason), run: "k", now: after(1_400)) == [.refused("k", reason: reason)])
        #expect(tracker.run("k") == nil)
    }

    @Test func `a turn that is taken up with another message's words is not the interrupted run's`() {
        var tracker = half(april)
        tracker.linkLost()
        tracker.linkOpened(process: .other, now: after(9_000))
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("g", now.milliseconds + 9_000), now: after(9_000))
        let opening = "[Queued user message that arrived while the previous turn was still active]"
        let note = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
        let row = user("\(opening)\\nanother\\n\\n\(note)", at: 9_000)
        let changes = tracker.receive(history: page([row]), session: main, now: after(9_500))
        #expect(!changes.contains(.reassigned(from: "k", to: "g")))
    }
}
