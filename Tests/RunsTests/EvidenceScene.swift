import Basics
import Gateway
import JSONBytes
import Ledger

@testable import Runs

/// The frames and rows of one session, for tests of what they prove.
protocol EvidenceScene {}

extension EvidenceScene {
    var main: SessionKey { SessionKey(canonical: "agent:main:main") }
    var now: Timestamp { Timestamp(milliseconds: 1_795_000_000_000) }
    var march: GatewayProfile { GatewayProfile(.march) }
    var april: GatewayProfile { GatewayProfile(.april) }

    func after(_ milliseconds: Int64) -> Timestamp { now.adding(milliseconds: milliseconds) }

    func user(_ text: String, at time: Int64, key: String? = nil) -> String {
        let key = key.map { #","idempotencyKey":"\#($0):user""# } ?? ""
        return
            #"{"role":"user","content":"\#(text)","timestamp":\#(1_795_000_000_000 + time)\#(key),"__openclaw":{"id":"u\#(time)"}}"#
    }

    func answer(_ text: String, at time: Int64, _ stop: String = "stop") -> String {
        """
        {"role":"assistant","content":[{"type":"text","text":"\(text)"}],"stopReason":"\(stop)",\
        "timestamp":\(1_795_000_000_000 + time)}
        """
    }

    /// A row that the gateway wrote by itself.
    func injected(_ text: String, at time: Int64) -> String {
        answer(text, at: time).dropLast() + #","model":"gateway-injected"}"#
    }

    func page(_ rows: [String], status: String? = nil, active: Bool = false, id: String = "c1") -> JSONValue {
        let info = status.map { #","sessionInfo":{"hasActiveRun":\#(active),"status":"\#($0)"}"# } ?? ""
        return json(#"{"sessionId":"\#(id)","messages":[\#(rows.joined(separator: ","))]\#(info)}"#)
    }

    /// A run of ours that has said "Half of".
    func half(_ profile: GatewayProfile, isDelivered: Bool = true) -> RunTracker {
        var tracker = RunTracker()
        tracker.profile = profile
        tracker.sent("k", session: main, text: "story", now: now)
        if isDelivered { tracker.deliveryIsOver("k") }
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, "Half of"), now: now)
        return tracker
    }

    func ends(_ changes: [RunChange]) -> [Run] {
        changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
    }

    func corrected(_ changes: [RunChange]) -> Run? {
        changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }.last
    }

    // MARK: A restart of the gateway

    /// The run of `half`, which is stopped 3 s after its start.
    func stopped(_ profile: GatewayProfile = GatewayProfile(.june)) -> RunTracker {
        var tracker = half(profile)
        stop(&tracker)
        return tracker
    }

    func stop(_ tracker: inout RunTracker, at time: Int64 = 3_000) {
        let aborted = json(
            #"{"runId":"k","sessionKey":"agent:main:main","seq":3,"state":"aborted","stopReason":"rpc"}"#
        )
        _ = tracker.receive(event: "chat", payload: aborted, now: after(time))
    }

    /// The prompt with which 2026.4.26 goes on with a run; 2026.6.11 puts the message in front of it.
    var notice: String {
        "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
    }

    func takenUp(_ words: String, at time: Int64) -> String {
        let opening = "[Queued user message that arrived while the previous turn was still active]"
        return user("\(opening)\\n\(words)\\n\\n\(notice)", at: time)
    }

    /// The gateway begins the run `g` with this prompt.
    func goOn(_ tracker: inout RunTracker, _ prompt: String, at time: Int64) -> [RunChange] {
        let start = AgentFrame.start("g", now.milliseconds + time)
        _ = tracker.receive(event: "agent", payload: start, now: after(time))
        let row = json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(prompt)}"#)
        return tracker.receive(event: "session.message", payload: row, now: after(time + 10))
    }

    func changed(_ members: String) -> JSONValue {
        json(#"{"sessionKey":"agent:main:main",\#(members)}"#)
    }
}
