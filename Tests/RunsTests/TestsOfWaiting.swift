import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// Tests of messages that wait behind a run of the main session.
protocol TestsOfWaiting {}

extension TestsOfWaiting {
    var main: SessionKey { SessionKey(canonical: "agent:main:main") }
    var now: Timestamp { Timestamp(milliseconds: 1_795_000_000_000) }

    func after(_ milliseconds: Int64) -> Timestamp { now.adding(milliseconds: milliseconds) }

    /// The user's row that the gateway writes when it begins with a message.
    func row(_ text: String, at time: Int64) -> String {
        #"""
        {"role":"user","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(1_795_000_000_000 + time),"__openclaw":{"id":"u\#(time)"}}
        """#
    }

    func message(_ row: String) -> JSONValue {
        json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(row)}"#)
    }

    func start(_ id: String, at time: Int64) -> JSONValue { AgentFrame.start(id, 1_795_000_000_000 + time) }

    /// Without what is known of messages that wait.
    func news(_ changes: [RunChange]) -> [RunChange] {
        changes.filter { if case .waits = $0 { false } else { true } }
    }

    /// `one` runs, the others wait behind it.
    func busy(_ waiting: [String], now: Timestamp) -> RunTracker {
        var tracker = RunTracker()
        for id in ["one"] + waiting { tracker.sent(id, session: main, text: "text of \(id)", now: now) }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("one"), now: now)
        for id in waiting {
            let changes = tracker.receive(event: "chat", payload: ChatFrame.final(id, 1, nil), now: now)
            #expect(news(changes) == [.deferred(id, session: main)])
        }
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("one", 9, "first"), now: now)
        return tracker
    }
}
