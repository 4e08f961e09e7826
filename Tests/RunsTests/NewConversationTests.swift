import Basics
import Gateway
import JSONBytes
import Testing

@testable import Runs

/// A gateway that begins a new conversation for a session that has one: nothing of the new one is on disk yet.
struct NewConversationTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

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
