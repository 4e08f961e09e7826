import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// Runs of which Ladle saw a part: the link was away at their start or between their tries, or Ladle was killed meanwhile.
struct HalfSeenRunTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

    private func after(_ milliseconds: Int64) -> Timestamp { now.adding(milliseconds: milliseconds) }

    private func row(_ role: String, _ text: String, at time: Int64, _ more: String = "") -> String {
        #"{"role":"\#(role)","content":[{"type":"text","text":"\#(text)"}],"timestamp":\#(after(time).milliseconds)\#(more)}"#
    }

    private func page(_ rows: [String]) -> JSONValue { json(#"{"messages":[\#(rows.joined(separator: ","))]}"#) }

    private func ends(_ changes: [RunChange]) -> [String] {
        changes.compactMap {
            if case .ended(let run) = $0 { "\(run.id) \(run.state.rawValue): \(run.text)" } else { nil }
        }
    }

    private func start(_ run: String, at time: Int64) -> JSONValue { AgentFrame.start(run, after(time).milliseconds) }

    /// 2026.4.26, seen live: another client's run was told as failed with the error of a try, though a later try had the whole answer.
    @Test(arguments: [true, false])
    func `a run that was first seen at a later try has the turn around that try`(isWithin: Bool) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.linkOpened(process: .same, now: after(2_000))
        _ = tracker.receive(event: "agent", payload: start("phone", at: 3_000), now: after(3_000))
        let error = #","stopReason":"error","errorMessage":"500 oops""#
        let failed = AgentFrame.make(
            "phone",
            2,
            "lifecycle",
            #"{"phase":"error","error":"500 oops"}"#,
            at: after(3_300).milliseconds
        )
        _ = tracker.receive(event: "agent", payload: failed, now: after(3_300))
        tracker.relink(now: after(19_000))
        let first: Int64 = isWithin ? 100 : 3_050
        let rows = [
            row("user", "say it", at: 50), row("assistant", "", at: first, error),
            row("assistant", "", at: 3_100, error),
            row("assistant", "Said.", at: 16_000, #","stopReason":"stop""#),
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: after(19_500))
        #expect(ends(changes) == (isWithin ? ["phone completed: Said."] : []), "\(changes)")
    }

    /// 2026.3.1, seen live: Ladle was killed while another client's run was at work whose start it had not seen. The answer was in the
    /// transcript, and the run was told as failed.
    @Test(arguments: ["One two", "Another"])
    func `a run that an earlier process saw at work has the answer with the text that was seen`(seen: String) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        let kept = Run(id: "phone", session: main, state: .running, startedAt: after(5_000), text: seen)
        _ = tracker.follow(KnownRun(kept), now: after(9_000))
        tracker.linkOpened(process: .same, now: after(9_000))
        let rows = [
            row("user", "count", at: 1_000), row("assistant", "One two three.", at: 1_100, #","stopReason":"stop""#),
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: after(9_500))
        #expect(ends(changes) == (seen == "One two" ? ["phone completed: One two three."] : []), "\(changes)")
    }

    /// 2026.3.1, seen live: another client stopped its message at once, and Ladle was killed. Then the gateway says the answer before once
    /// more as the end of the stopped run, which was told as completed.
    @Test(arguments: [true, false])
    func `an answer that the gateway says once more is no run`(isByGateway: Bool) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        let model = isByGateway ? #","model":"gateway-injected""# : ""
        let final = json(
            #"""
            {"runId":"phone","sessionKey":"agent:main:main","seq":1,"state":"final","message":{"role":"assistant",
            "content":[{"type":"text","text":"Said before."}],"timestamp":\#(after(100).milliseconds)\#(model)}}
            """#
        )
        let changes = tracker.receive(event: "chat", payload: final, now: after(100))
        #expect(changes.isEmpty == isByGateway)
        #expect((tracker.run("phone") == nil) == isByGateway)
    }

    /// 2026.4.26, seen live: our run that a restart of the gateway had cut off got the words of another client's run after the restart.
    @Test(arguments: [Continuity.same, .other])
    func `a row that comes alone is none of a run whose process is gone`(process: Continuity) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.sent("one", session: main, text: "say it", now: now)
        _ = tracker.receive(event: "agent", payload: start("one", at: 200), now: after(200))
        let said = row("user", "say it", at: 200, #","__openclaw":{"id":"u1"}"#)
        let event = json(#"{"sessionKey":"agent:main:main","messageId":"u1","message":\#(said)}"#)
        _ = tracker.receive(event: "session.message", payload: event, now: after(210))
        tracker.relink(process: process, startedAt: process == .other ? after(20_000) : nil, now: after(25_000))
        _ = tracker.receive(history: page([said]), session: main, now: after(26_000))
        _ = tracker.receive(event: "agent", payload: start("phone", at: 30_000), now: after(30_000))
        let answer = row(
            "assistant",
            "For the phone.",
            at: 30_500,
            #","stopReason":"toolUse","__openclaw":{"id":"a1"}"#
        )
        let written = json(#"{"sessionKey":"agent:main:main","messageId":"a1","message":\#(answer)}"#)
        _ = tracker.receive(event: "session.message", payload: written, now: after(30_600))
        #expect((tracker.run("one")?.text == "For the phone.") == (process == .same))
    }

    /// 2026.3.1, seen live: a message was answered unseen while it waited, and then its words were sent again. Lists gave its answer to the
    /// later run, and did not have the message.
    @Test func `a message that was answered unseen keeps its turn after its words are sent again`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        _ = tracker.receive(event: "agent", payload: start("g0", at: 0), now: now)
        tracker.sent("one", session: main, text: "say it", now: after(1_000))
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("one", 1, nil), now: after(1_500))
        tracker.relink(now: after(15_000))
        let first = [
            row("user", "say it", at: 8_000), row("assistant", "Said.", at: 8_100, #","stopReason":"stop""#),
        ]
        let changes = tracker.receive(history: page(first), session: main, now: after(15_100))
        #expect(ends(changes) == ["one completed: Said."])
        tracker.sent("two", session: main, text: "say it", now: after(16_000))
        _ = tracker.receive(event: "agent", payload: start("two", at: 16_500), now: after(16_500))
        let second = [
            row("user", "say it", at: 16_500), row("assistant", "Said again.", at: 16_600, #","stopReason":"stop""#),
        ]
        let shown = MessagePage(history: page(first + second), session: main, tracker: tracker, now: after(20_000))
        #expect(shown.messages.map(\.runID) == ["one", "one", "two", "two"])
    }

    /// 2026.3.1, seen live: a message at work was sent again after the gateway's restart and was answered while the link was away. Its run was
    /// told as failed.
    @Test func `a message that was sent again has the answer of its new row`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent("one", session: main, text: "say it", now: now)
        _ = tracker.receive(event: "agent", payload: start("one", at: 500), now: after(500))
        tracker.relink(process: .other, startedAt: after(10_000), now: after(15_000))
        _ = tracker.awaitsResend("one")
        tracker.sent("one", session: main, text: "say it", now: after(16_000))
        tracker.relink(now: after(30_000))
        let rows = [row("user", "say it", at: 16_500), row("assistant", "Said.", at: 16_600, #","stopReason":"stop""#)]
        let changes = tracker.receive(history: page(rows), session: main, now: after(30_100))
        #expect(ends(changes) == ["one completed: Said."], "\(changes)")
    }

    /// 2026.6.11, seen live: the empty end that follows a confirmed stop was taken for that of a message that waits, and the session's
    /// next messages waited for it.
    @Test func `a message that was stopped before its work waits for no run`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent("one", session: main, text: "say it", now: now)
        let end = #"{"sessionKey":"agent:main:main","phase":"end","runId":"one","abortedLastRun":true}"#
        _ = tracker.receive(event: "sessions.changed", payload: json(end), now: after(500))
        _ = tracker.tick(now: after(10_000))
        #expect(tracker.run("one")?.state == .aborted)
        let changes = tracker.receive(event: "chat", payload: ChatFrame.final("one", 2, nil), now: after(20_000))
        #expect(!changes.contains(.deferred("one", session: main)), "\(changes)")
    }

    /// 2026.3.1, seen live on a starved machine: the gateway had taken the row's time 203 ms before it began the run. The row was nobody's, and
    /// the run was told as one of which the history shows no end.
    @Test func `a row that is somewhat older than the start of our run is that run's`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent("one", session: main, text: "say it", now: after(-1_400))
        _ = tracker.receive(event: "agent", payload: start("one", at: 0), now: now)
        tracker.relink(now: after(9_000))
        let rows = [
            row("user", "say it", at: -203), row("assistant", "Said.", at: 5_000, #","stopReason":"stop""#),
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: after(9_100))
        #expect(ends(changes) == ["one completed: Said."])
    }

    /// 2026.6.11, seen live: the rows showed the run's end, and its final event came a second later. From then on the run had other times than
    /// its end on the streams.
    @Test func `a final event behind the end that the rows showed changes nothing`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent("one", session: main, text: "say it", now: now)
        tracker.relink(now: after(9_000))
        let rows = [
            row("user", "say it", at: 8_000, #","__openclaw":{"id":"u","idempotencyKey":"one"}"#),
            row("assistant", "Said.", at: 8_500, #","stopReason":"stop""#),
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: after(9_100))
        let ended = changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
        #expect(ends(changes) == ["one completed: Said."])
        let more = tracker.receive(event: "chat", payload: ChatFrame.final("one", 7, "Said."), now: after(10_000))
        #expect(more == [] && tracker.run("one") == ended.first)
    }

    /// The same of a run that was stopped before it began, on 2026.4.26: the gateway said 14 s later that the agent had been stopped.
    @Test func `a final event behind a stop that it does not refute changes nothing`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.sent("one", session: main, text: "say it", now: now)
        let stop = ChatFrame.make("one", 1, "aborted")
        let ended = tracker.receive(event: "chat", payload: stop, now: after(8_000)).compactMap {
            if case .ended(let run) = $0 { run } else { nil }
        }
        let final = ChatFrame.final("one", 1, "Agent failed before reply: This operation was aborted.")
        let more = tracker.receive(event: "chat", payload: final, now: after(22_000))
        #expect(more == [] && ended.count == 1 && tracker.run("one") == ended.first)
    }

    private enum Tried: CaseIterable {
        case linked
        /// The link breaks behind the end of the last try.
        case cut
        /// The gateway is killed then, too.
        case killed
    }

    /// 2026.3.1, seen live: the provider cut off the answer, and the gateway tried again. The second try had agent events alone, whose end came
    /// without a final event: the run was told with the rows of the page before, or with the text of the first try.
    @Test(arguments: Tried.allCases)
    private func `the end of a try without a final event waits for the page that has the answer`(_ tried: Tried) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent("one", session: main, text: "say it", now: now)
        _ = tracker.receive(event: "agent", payload: start("one", at: 0), now: now)
        let call = row("assistant", "Looking.", at: 200, #","stopReason":"toolUse""#)
        let early = [row("user", "say it", at: 0), call]
        func say(_ sequence: Int, _ text: String, at time: Int64) {
            let said = #"{"text":"\#(text)","delta":""}"#
            let event = AgentFrame.make("one", sequence, "assistant", said, at: time)
            _ = tracker.receive(event: "agent", payload: event, now: after(time))
        }
        func end(_ sequence: Int, _ phase: String, at time: Int64) {
            let data = #"{"phase":"\#(phase)","error":"terminated","endedAt":\#(after(time).milliseconds)}"#
            let event = AgentFrame.make("one", sequence, "lifecycle", data, at: time)
            _ = tracker.receive(event: "agent", payload: event, now: after(time))
        }
        say(2, "Looking.", at: 100)
        let tool = AgentFrame.make(
            "one",
            3,
            "tool",
            #"{"phase":"start","name":"exec","toolCallId":"c1","args":{}}"#,
            at: 200
        )
        _ = tracker.receive(event: "agent", payload: tool, now: after(200))
        _ = tracker.receive(history: page(early), session: main, now: after(300))
        say(4, "Said", at: 400)
        end(5, "error", at: 500)
        let again = AgentFrame.make(
            "one",
            6,
            "lifecycle",
            #"{"phase":"start","startedAt":\#(after(2_500).milliseconds)}"#,
            at: 2_500
        )
        _ = tracker.receive(event: "agent", payload: again, now: after(2_500))
        if tried == .linked { say(7, "Said it", at: 2_600) }
        end(8, "end", at: 3_000)
        if tried != .linked { tracker.linkLost() }
        var changes = tracker.tick(now: after(7_000)) + tracker.tick(now: after(tried == .linked ? 20_000 : 50_000))
        #expect(ends(changes) == [])
        if tried == .linked {
            var late = tracker
            let withoutPage = ends(late.tick(now: after(40_000)))
            #expect(withoutPage.map { $0.hasSuffix("Said it") } == [true], "the rows are older: \(withoutPage)")
        } else {
            tracker.linkOpened(
                process: tried == .killed ? .other : .same,
                startedAt: tried == .killed ? after(50_500) : nil,
                now: after(51_000)
            )
            changes = tracker.tick(now: after(51_100))
            #expect(ends(changes) == [])
        }
        let rows = early + [row("assistant", "Said it all.", at: 2_900, #","stopReason":"stop""#)]
        changes = tracker.receive(history: page(rows), session: main, now: after(51_200))
        changes += tracker.tick(now: after(52_000))
        #expect(
            ends(changes).map { $0.hasPrefix("one completed: Looking.") && $0.hasSuffix("Said it all.") } == [true],
            "\(changes)"
        )
    }
}
