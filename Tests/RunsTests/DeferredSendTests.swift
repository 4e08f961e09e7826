import Basics
import Gateway
import JSONBytes
import Testing

@testable import Runs

/// Sends into a session that is at work, on protocol 3.
struct DeferredSendTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

    @Test func `two deferred sends are answered in order, or together`() {
        var tracker = RunTracker()
        for (id, text) in [("one", "1"), ("two", "2"), ("three", "3")] {
            tracker.sent(id, session: main, text: text, now: now)
        }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("one"), now: now)
        let two = tracker.receive(event: "chat", payload: ChatFrame.final("two", 1, nil), now: now)
        #expect(two == [.deferred("two", session: main)])
        let three = tracker.receive(event: "chat", payload: ChatFrame.final("three", 1, nil), now: now)
        #expect(three == [.deferred("three", session: main)])
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("one", 9, "first"), now: now)
        let changes = tracker.receive(event: "agent", payload: AgentFrame.start("g1"), now: now)
        #expect(changes.first == .reassigned(from: "two", to: "g1"))
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("g1", 9, "both"), now: now)
        #expect(tracker.run("two")?.text == "both")
        #expect(tracker.tick(now: now).isEmpty)
        let late = tracker.tick(now: now.adding(milliseconds: RunTracker.deferredGrace))
        #expect(
            late.contains {
                if case .ended(let run) = $0 { run.id == "three" && run.state == .completed } else { false }
            }
        )
    }

    @Test func `each deferred send has its own time to be answered`() {
        var tracker = RunTracker()
        func deferred(_ id: String, behind run: String) {
            tracker.sent(id, session: main, text: id, now: now)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final(id, 1, nil), now: now)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final(run, 9, "done"), now: now)
        }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        deferred("b", behind: "a")
        #expect(tracker.tick(now: now).isEmpty)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("g1"), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("g1", 9, "b's"), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("c"), now: now)
        deferred("d", behind: "c")
        #expect(tracker.tick(now: now.adding(milliseconds: 60_000)).isEmpty)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("g2"), now: now)
        #expect(tracker.run("d")?.id == "g2")
    }

    @Test(arguments: ["error", "aborted"])
    func `a deferred send that has ended is not answered any more`(state: String) {
        var tracker = RunTracker()
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        for id in ["b", "c"] {
            tracker.sent(id, session: main, text: id, now: now)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final(id, 1, nil), now: now)
        }
        _ = tracker.receive(event: "chat", payload: ChatFrame.make("b", 2, state), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("a", 9, "done"), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("g1"), now: now)
        #expect(tracker.run("b")?.id == "b")
        #expect(tracker.run("c")?.id == "g1")
    }

    @Test func `busy runs are listed, and those that changed since the last look`() {
        var tracker = RunTracker()
        for id in ["a", "b", "c"] { tracker.sent(id, session: main, text: id, now: now) }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("a"), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("b", 1, nil), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("side", session: "agent:main:side"), now: now)
        tracker.linkLost()
        #expect(Set(tracker.busyRuns.map(\.id)) == ["a", "b", "side"])
        #expect(tracker.busyRuns.filter(\.isDeferred).map(\.id) == ["b"])
        var heard = tracker.takeChangedBusyRuns()
        #expect(Set(heard.map(\.id)) == ["a", "b", "side"])
        heard = tracker.takeChangedBusyRuns()
        #expect(heard.isEmpty)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("a", 2, "One"), now: now)
        // A message deferred behind a run that still sends events also counts as heard of.
        heard = tracker.takeChangedBusyRuns()
        #expect(Set(heard.map(\.id)) == ["a", "b"])
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("a", 3, "One two"), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("a", 9, "One two"), now: now)
        #expect(tracker.takeChangedBusyRuns().isEmpty)
    }

    @Test func `a heartbeat does not answer a deferred send`() {
        var tracker = RunTracker()
        tracker.sent("one", session: main, text: "1", now: now)
        tracker.sent("two", session: main, text: "2", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("one"), now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("two", 1, nil), now: now)
        let beat = json(
            #"{"runId":"beat","seq":1,"stream":"lifecycle","ts":1795000000000,"isHeartbeat":true,"sessionKey":"agent:main:main","data":{"phase":"start"}}"#
        )
        _ = tracker.receive(event: "agent", payload: beat, now: now)
        #expect(tracker.run("two")?.id == "two")
    }
}
