import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import Testing

@testable import Runs

/// Runs that an earlier process followed, or whose message it sent.
struct UnseenRunTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let now = Timestamp(milliseconds: 1_795_000_000_000)
    private let own = "01a1fc79-0000-7000-8000-000000000001"
    private let other = "01a1fc79-0000-7000-8000-000000000000"

    private func page(_ rows: [String], active: String? = nil, text: String = "") -> JSONValue {
        let flight = active.map { #""inFlightRun":{"runId":"\#($0)","text":"\#(text)"},"# } ?? ""
        return json(
            """
            {"messages":[\(rows.joined(separator: ","))],\(flight)\
            "sessionInfo":{"hasActiveRun":\(active != nil)}}
            """
        )
    }

    private func turn(_ key: String, _ reply: String, at: Int64) -> [String] {
        [
            """
            {"role":"user","content":"hi","timestamp":\(1_795_000_000_000 + at),"idempotencyKey":"\(key)"}
            """,
            """
            {"role":"assistant","content":[{"type":"text","text":"\(reply)"}],"stopReason":"stop",\
            "timestamp":\(1_795_000_000_000 + at + 900)}
            """,
        ]
    }

    private func published(_ changes: [RunChange]) -> [String] {
        changes.compactMap { change in
            switch change {
            case .started: "started"
            case .ended(let run): "\(run.state) \(run.text)"
            case .textReplaced(_, let text): "replaced \(text)"
            case .textAppended(_, let offset, let text): "\(offset) \(text)"
            case .corrected(let run): "corrected \(run.state) \(run.text)"
            case .proven(_, let proof): "proven \(proof)"
            case .dropped: "dropped"
            case .stepChanged, .deferred, .putAside, .reassigned, .separated, .refused, .joined: "other"
            case .taken, .waits: nil
            }
        }
    }

    /// 2026.6.11, seen live: the user's row of another client's message came while the link was away. The answer's row has the time at
    /// which the model was asked, before the first event of its run that Ladle saw.
    @Test func `the answer to a message whose row was missed is not that of the turn before`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own, now.milliseconds), now: now)
        tracker.linkLost()
        tracker.linkOpened(process: .same, now: now.adding(milliseconds: 2_000))
        _ = tracker.receive(
            event: "chat",
            payload: ChatFrame.delta("x", 4, "Not yo"),
            now: now.adding(milliseconds: 3_500)
        )
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m9","message":{"role":"assistant","stopReason":"stop","#
                + #""content":[{"type":"text","text":"Not yours."}],"timestamp":1795000003000,"__openclaw":{"id":"m9"}}}"#
        )
        _ = tracker.receive(event: "session.message", payload: row, now: now.adding(milliseconds: 4_000))
        let rows = turn(own, "Hello.", at: 10) + turn("x", "Not yours.", at: 2_500)
        let changes = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: 5_000))
        #expect(published(changes).last == "completed Hello.")
    }

    @Test func `a run whose start nobody saw is published whole from history`() {
        var tracker = RunTracker()
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now)
        let changes = tracker.receive(history: page(turn(own, "Hello.", at: 10)), session: main, now: now)
        #expect(published(changes) == ["started", "0 Hello.", "proven end", "completed Hello."])
        #expect(tracker.run(own)?.endedAt == now.adding(milliseconds: 910))
    }

    @Test func `a run that came and went while the link was down is published whole from history`() {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        tracker.relink(now: now)
        #expect(tracker.looks(now) == [main])
        let changes = tracker.receive(history: page(turn(own, "Hello.", at: 10)), session: main, now: now)
        #expect(published(changes) == ["started", "0 Hello.", "proven end", "completed Hello."])
    }

    @Test func `where history shows nothing of a run, nothing is published`() {
        var tracker = RunTracker()
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now)
        #expect(published(tracker.receive(history: page([]), session: main, now: now)) == ["dropped"])
        #expect(tracker.run(own) == nil)
    }

    /// 2026.6.11, seen live: the words were read with the next message, and a run that never was had been told as cut off.
    @Test func `a refused message that was read with a later one has no run`() {
        var tracker = RunTracker()
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, delivery: .refused, goneAt: now)
        let user = #"{"role":"user","content":"hi","timestamp":1795000000010,"idempotencyKey":"\#(own):user"}"#
        let rows = ([user] + turn(other, "Both.", at: 9_000)).joined(separator: ",")
        let changes = tracker.receive(history: json(#"{"messages":[\#(rows)]}"#), session: main, now: now)
        #expect(published(changes).filter { !$0.hasPrefix("proven") } == ["dropped"])
        #expect(tracker.run(own) == nil)
    }

    @Test func `a message whose run nobody has seen is no run yet`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, delivery: .open)
        tracker.linkOpened(process: .same, now: now)
        let rows = turn(other, "The one before.", at: -9000).joined(separator: ",")
        let page = json(#"{"messages":[\#(rows)]}"#)
        #expect(tracker.receive(history: page, session: main, now: now).isEmpty)
        #expect(tracker.run(own)?.state == .queued)
        #expect(tracker.questions(main, now: now).isEmpty)
    }

    @Test func `a message that was put aside before Ladle's restart is tied to the run that answers it`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, delivery: .open)
        tracker.followRun("late", session: main, startedAt: now.adding(milliseconds: 5000), now: now)
        tracker.linkOpened(process: .same, now: now)
        let rows = [
            #"{"role":"user","content":"hi","timestamp":\#(1_795_000_005_000)}"#,
            #"{"role":"assistant","content":"Late.","stopReason":"stop","timestamp":\#(1_795_000_005_100)}"#,
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: 6000))
        #expect(changes.contains(.reassigned(from: own, to: "late", isShared: true)))
        #expect(tracker.run(own)?.id == "late" && tracker.run(own)?.text == "Late.")
    }

    /// 2026.3.1, seen live: the message waited in a process that restarted within itself while Ladle was killed. The page shows its row
    /// before an event of the run comes, whose id is the gateway's own.
    @Test(arguments: [false, true])
    func `a run known by its row alone goes on as the one first seen at work`(isAnswered: Bool) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, delivery: .open)
        tracker.linkOpened(process: .either, now: now.adding(milliseconds: 4_000))
        func rows(_ answer: Bool) -> JSONValue {
            let rows = [
                #"{"role":"user","content":"hi","timestamp":\#(1_795_000_004_100)}"#,
                #"{"role":"assistant","content":"Wait.","stopReason":"toolUse","timestamp":\#(1_795_000_004_150)}"#,
                #"{"role":"assistant","content":"Hello.","stopReason":"stop","timestamp":\#(1_795_000_005_000)}"#,
            ]
            return page(answer ? rows : Array(rows.dropLast()))
        }
        var changes = tracker.receive(history: rows(false), session: main, now: now.adding(milliseconds: 4_200))
        #expect(tracker.run(own)?.state == .running)
        let seen = now.adding(milliseconds: isAnswered ? 6_000 : 4_300)
        let text = AgentFrame.make("g", 5, "assistant", #"{"text":"He","delta":""}"#, at: isAnswered ? 6_000 : 4_300)
        changes += tracker.receive(event: "agent", payload: text, now: seen)
        changes += tracker.receive(history: rows(true), session: main, now: now.adding(milliseconds: 6_300))
        #expect(changes.contains(.reassigned(from: own, to: "g", isShared: true)) == !isAnswered)
        #expect(tracker.run(own)?.id == (isAnswered ? own : "g"))
        let ended = changes.compactMap { if case .ended(let run) = $0 { run } else { nil } }
        #expect(ended.map(\.continuedAs) == [isAnswered ? nil : "g"])
    }

    @Test(arguments: [0, 3_600_000])
    func `a message is found by the clocks of its dispatch, even if one is set afterwards`(stepMs: Int64) {
        let later = now.adding(milliseconds: 1_000 - stepMs)
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.march)
        tracker.sent(own, session: main, text: "hi", now: now)
        tracker.clockSkewMs = stepMs
        tracker.relink(now: later)
        let rows = [
            #"{"role":"user","content":"hi","timestamp":1795000000010}"#,
            #"{"role":"assistant","content":"Hello.","stopReason":"stop","timestamp":1795000000900}"#,
        ]
        _ = tracker.receive(
            history: json(#"{"messages":[\#(rows.joined(separator: ","))]}"#),
            session: main,
            now: later
        )
        #expect(tracker.run(own)?.text == "Hello.")
    }

    /// Sent to a gateway that was killed, with Ladle, before anything was heard of the run.
    @Test func `a message whose row stands and whose process is gone is a run that was interrupted`() {
        let row = turn(own, "", at: 10)[0]
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, goneAt: now)
        let changes = tracker.receive(history: page([row]), session: main, now: now)
        #expect(published(changes) == ["started"])
        let late = now.adding(milliseconds: 60_001)
        let more = tracker.receive(history: page([row]), session: main, now: late)
        #expect(published(more).last == "failed ")
        #expect(tracker.run(own)?.code == .interrupted)
    }

    @Test func `a message that the gateway takes up by itself names the run that answers it`() {
        let row = turn(own, "", at: 10)[0]
        let answer = "8785e0d5-24f6-4806-9cb6-59cef41cd3b3"
        let note = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
        let mark = #"[Queued user message that arrived while the previous turn was still active]\n"#
        let again = #"{"role":"user","content":"\#(mark)hi\n\n\#(note)","timestamp":\#(1_795_000_009_000)}"#
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.followUnseen(own, session: main, text: "hi", sentAt: now, goneAt: now)
        _ = tracker.receive(history: page([row]), session: main, now: now)
        let start = AgentFrame.start(answer, 1_795_000_009_000)
        _ = tracker.receive(event: "agent", payload: start, now: now.adding(milliseconds: 9000))
        let changes = tracker.receive(
            history: page([row, again], active: answer),
            session: main,
            now: now.adding(milliseconds: 9500)
        )
        #expect(changes.contains(.reassigned(from: own, to: answer)))
        #expect(tracker.run(own)?.continuedAs == answer)
    }

    @Test func `a run that a second restart interrupts names the next one`() {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        var rows = [turn(own, "", at: 10)[0]]
        for (number, run) in ["first", "second"].enumerated() {
            let at = Int64(number + 1) * 10_000
            tracker.relink(process: .other, now: now.adding(milliseconds: at))
            rows.append(prompt("hi", restarts: number + 1, at: at + 6_000))
            let start = AgentFrame.start(run, now.milliseconds + at + 6_000)
            _ = tracker.receive(event: "agent", payload: start, now: now.adding(milliseconds: at + 6_000))
            let page = page(rows, active: run)
            let changes = tracker.receive(history: page, session: main, now: now.adding(milliseconds: at + 6_500))
            let before = number == 0 ? own : "first"
            #expect(changes.contains(.reassigned(from: before, to: run)))
            #expect(tracker.run(before)?.continuedAs == run)
        }
    }

    /// 2026.6.11, seen live: the gateway went on with a run between two processes of Ladle.
    @Test func `a run that the gateway went on with while Ladle was away names the run that Ladle joins`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        let later = now.adding(milliseconds: 60_000)
        tracker.followRun("before", session: main, startedAt: now, message: "hi", text: "Half", now: later)
        tracker.linkOpened(process: .same, startedAt: now.adding(milliseconds: 40_000), now: later)
        let rows = [prompt("hi", restarts: 1, at: 57_000)]
        let changes = tracker.receive(history: page(rows, active: "joined", text: "Go"), session: main, now: later)
        #expect(changes.contains(.reassigned(from: "before", to: "joined")))
        #expect(tracker.run("before")?.continuedAs == "joined")
        // A run that another client began later works on its own message.
        var other = RunTracker()
        other.profile = tracker.profile
        other.followRun("before", session: main, startedAt: now, message: "hi", text: "Half", now: later)
        other.linkOpened(process: .same, startedAt: now.adding(milliseconds: 40_000), now: later)
        let more = rows + [turn("foreign", "", at: 59_000)[0]]
        let told = other.receive(history: page(more, active: "joined", text: "Go"), session: main, now: later)
        #expect(!told.contains { if case .reassigned = $0 { true } else { false } })
    }

    enum LaterRun: CaseIterable {
        case ofGateway, ofStrangerWithoutRow, ofStrangerWithOtherWords, ofStrangerWithTheSame
    }

    @Test(arguments: LaterRun.allCases)
    func `a run of ours and a later one of another client may have the same words`(later: LaterRun) {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.june)
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        tracker.deliveryIsOver(own)
        tracker.relink(process: .other, now: now.adding(milliseconds: 1_000))
        for wait in [2_000, 70_000] as [Int64] {
            let rows = [turn(own, "", at: 10)[0]]
            _ = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: wait))
        }
        #expect(tracker.run(own)?.code == .interrupted, "given up")
        let foreign = AgentFrame.start("foreign", now.milliseconds + 80_000)
        _ = tracker.receive(event: "agent", payload: foreign, now: now.adding(milliseconds: 80_000))
        let begun: String? =
            switch later {
            case .ofGateway: prompt("other words", restarts: 1, at: 80_000)
            case .ofStrangerWithoutRow: nil
            case .ofStrangerWithOtherWords: turn("foreign", "", at: 80_000)[0].replacing("hi", with: "other")
            case .ofStrangerWithTheSame: turn("foreign", "", at: 80_000)[0]
            }
        if let begun {
            let told = json(#"{"sessionKey":"agent:main:main","messageId":"f","message":\#(begun)}"#)
            _ = tracker.receive(event: "session.message", payload: told, now: now.adding(milliseconds: 80_000))
        }
        tracker.relink(process: .other, now: now.adding(milliseconds: 90_000))
        let start = now.adding(milliseconds: 96_000)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("own", start.milliseconds), now: start)
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(self.prompt("hi", restarts: 1, at: 96_000))}"#
        )
        let changes = tracker.receive(event: "session.message", payload: row, now: start)
        let resumed = later == .ofStrangerWithTheSame ? "foreign" : own
        let isShared = later == .ofStrangerWithoutRow
        #expect(changes.contains(.reassigned(from: resumed, to: "own", isShared: isShared)), "\(changes)")
    }

    /// 2026.4.26, seen live: the page after the restart begins with a prompt of an earlier restart, and its answer.
    @Test func `the prompt of an earlier restart does not go on with a later message`() {
        let notice = "[System] Your previous turn was interrupted by a gateway restart. Go on."
        for text in [notice, #"hi\n\n"# + notice] {
            var tracker = RunTracker()
            tracker.profile = GatewayProfile(.april)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("earlier"), now: now)
            _ = tracker.receive(event: "chat", payload: ChatFrame.final("earlier", 9, "The one before."), now: now)
            let sent = now.adding(milliseconds: 30_000)
            tracker.sent(own, session: main, text: "hi", now: sent)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start(own, sent.milliseconds), now: sent)
            tracker.deliveryIsOver(own)
            tracker.relink(process: .other, now: now.adding(milliseconds: 40_000))
            let rows = [
                #"{"role":"user","content":"\#(text)","timestamp":\#(now.milliseconds)}"#,
                turn(other, "The one before.", at: 10)[1],
                #"{"role":"user","content":"hi","timestamp":\#(sent.milliseconds)}"#,
            ]
            let changes = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: 41_000))
            #expect(!changes.contains { if case .reassigned = $0 { true } else { false } })
            #expect(tracker.run(own)?.state == .running)
        }
    }

    @Test func `a prompt goes on with the run whose start is nearest, also some seconds later`() {
        for late in [Int64(0), 1_300, 4_900] {
            var tracker = RunTracker()
            tracker.sent(own, session: main, text: "hi", now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
            tracker.relink(process: .other, now: now.adding(milliseconds: 10_000))
            let start = now.adding(milliseconds: 16_000 + late)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("answer", start.milliseconds), now: start)
            let row = json(
                #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(prompt("hi", restarts: 1, at: 16_000))}"#
            )
            let changes = tracker.receive(event: "session.message", payload: row, now: start)
            #expect(changes.contains(.reassigned(from: own, to: "answer")))
        }
    }

    /// 2026.6.11, seen live: two restarts while the link was down, each with a prompt in place of the user's row.
    @Test func `a delivered message whose row no page has shown may still be taken up`() {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        tracker.deliveryIsOver(own)
        tracker.relink(process: .other, now: now.adding(milliseconds: 35_000))
        let rows = [prompt("hi", restarts: 2, at: 30_000)]
        let early = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: 36_000))
        #expect(!published(early).contains { $0.hasPrefix("failed") })
        let late = tracker.receive(history: page(rows), session: main, now: now.adding(milliseconds: 95_001))
        #expect(published(late).last == "failed ")
    }

    /// 2026.4.26, seen live: after the first restart its prompt has no words, and each further restart adds its mark and its notice.
    @Test func `a run that restarts interrupt without a word of the message names the next one`() {
        let mark = #"[Queued user message that arrived while the previous turn was still active]\n"#
        let notice =
            "[Wed 2026-11-25 04:33 UTC] [System] Your previous turn was interrupted by a gateway restart. Go on."
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        var before = own
        for (number, run) in ["first", "second", "third"].enumerated() {
            let at = Int64(number + 1) * 30_000
            tracker.relink(process: .other, now: now.adding(milliseconds: at))
            let notices = Array(repeating: notice, count: number + 1).joined(separator: #"\n\n"#)
            let text = String(repeating: mark, count: number) + notices
            let start = now.adding(milliseconds: at + 20_000)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start(run, start.milliseconds), now: start)
            let row = #"{"role":"user","content":"\#(text)","timestamp":\#(start.milliseconds)}"#
            let event = json(#"{"sessionKey":"agent:main:main","messageId":"m\#(number)","message":\#(row)}"#)
            let changes = tracker.receive(event: "session.message", payload: event, now: start)
            #expect(changes.contains(.reassigned(from: before, to: run)))
            before = run
        }
    }

    /// The link came back after it: no event told of the gateway's own run.
    @Test func `a message that the gateway took up and answered unseen has that answer`() {
        let row = turn(own, "", at: 10)[0]
        let note = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
        let again = #"{"role":"user","content":"hi\n\n\#(note)","timestamp":\#(1_795_000_009_000)}"#
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text(own, 2, "Half"), now: now)
        tracker.relink(process: .other, now: now.adding(milliseconds: 20_000))
        let answer = turn(own, "Whole.", at: 9_000)[1]
        let changes = tracker.receive(
            history: page([row, again, answer]),
            session: main,
            now: now.adding(milliseconds: 20_100)
        )
        #expect(published(changes).last == "completed Whole.")
    }

    /// 2026.6.11 puts a mark and a notice around the message for each restart.
    @Test(arguments: [1, 2])
    func `a message whose row the gateway replaced by its own prompt has the answer to that prompt`(restarts: Int) {
        let changes = changes(after: prompt("hi", restarts: restarts, at: 9_000))
        #expect(published(changes).last == "completed Whole.")
    }

    /// 2026.6.11, seen live: Ladle was started some seconds after the gateway's own run, and again before it was tied.
    @Test func `a run that was joined late has the answer to the prompt with which it began`() {
        let late = now.adding(milliseconds: 33_400)
        var tracker = RunTracker()
        tracker.followRun(own, session: main, startedAt: now, message: "hi", now: now)
        tracker.followRun("gateways", session: main, startedAt: late, text: "Who", now: late)
        tracker.linkOpened(process: .same, startedAt: now.adding(milliseconds: 25_000), now: late)
        let rows = [prompt("hi", restarts: 2, at: 30_000), turn(own, "Whole.", at: 30_100)[1]]
        let asked = now.adding(milliseconds: 44_000)
        var changes = tracker.receive(history: page(rows), session: main, now: asked)
        changes += tracker.receive(history: page(rows), session: main, now: asked.adding(milliseconds: 90_000))
        #expect(changes.contains(.reassigned(from: own, to: "gateways")), "\(published(changes))")
        #expect(published(changes).last == "completed Whole.", "\(published(changes))")
    }

    @Test func `a prompt with the words of an earlier message does not answer this one`() {
        let changes = changes(after: prompt("hi", restarts: 2, at: -9_000))
        #expect(!published(changes).contains { $0.hasPrefix("completed") })
    }

    @Test func `a prompt with other words does not answer the message`() {
        let changes = changes(after: prompt("hi there", restarts: 2, at: 9_000))
        #expect(!published(changes).contains { $0.hasPrefix("completed") })
    }

    private func prompt(_ words: String, restarts: Int, at: Int64) -> String {
        let mark = #"[Queued user message that arrived while the previous turn was still active]\n"#
        let note = #"\n\n[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."#
        let text = String(repeating: mark, count: restarts) + words + String(repeating: note, count: restarts)
        return #"{"role":"user","content":"\#(text)","timestamp":\#(now.milliseconds + at)}"#
    }

    /// Rows of a run that began before the restart: only the gateway's prompt and the answer to it.
    private func changes(after prompt: String) -> [RunChange] {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        tracker.relink(process: .other, now: now.adding(milliseconds: 20_000))
        let answer = turn(own, "Whole.", at: 9_000)[1]
        return tracker.receive(
            history: page([prompt, answer]),
            session: main,
            now: now.adding(milliseconds: 20_100)
        )
    }

    @Test func `a run of which nothing is left waits until its message is sent again`() {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text(own, 2, "Half"), now: now)
        #expect(tracker.awaitsResend(own).isEmpty, "its process is there")
        tracker.relink(process: .other, now: now.adding(milliseconds: 20_000))
        #expect(published(tracker.awaitsResend(own)) == ["replaced "])
        #expect(tracker.run(own)?.state == .queued)
        let again = now.adding(milliseconds: 30_000)
        tracker.sent(own, session: main, text: "hi", now: again)
        #expect(tracker.run(own)?.state == .running)
        let changes = tracker.receive(event: "agent", payload: AgentFrame.text(own, 2, "Whole"), now: again)
        #expect(published(changes) == ["0 Whole"])
    }

    @Test func `a turn that was taken up before the message came has no answer to it`() {
        let note = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
        let earlier = [
            #"{"role":"user","content":"\#(note)","timestamp":\#(1_794_999_900_000)}"#,
            turn(other, "Of the one before.", at: -99_000)[1],
        ]
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        tracker.relink(process: .other, now: now.adding(milliseconds: 20_000))
        let rows = page(earlier + [turn(own, "", at: 10)[0]])
        let changes = tracker.receive(history: rows, session: main, now: now.adding(milliseconds: 20_100))
        #expect(!published(changes).contains { $0.hasPrefix("completed") })
        #expect(tracker.run(own)?.state == .running)
    }

    @Test func `the turn before does not end a run that goes on`() {
        var tracker = RunTracker()
        tracker.followRun(own, session: main, startedAt: now, message: "hi", now: now)
        let rows = turn(other, "The one before.", at: -3000)
        let changes = tracker.receive(history: page(rows, active: own, text: "Now "), session: main, now: now)
        #expect(published(changes) == ["replaced Now "])
        #expect(tracker.run(own)?.state == .running)
        let more = tracker.receive(event: "agent", payload: AgentFrame.text(own, 7, "Now this."), now: now)
        #expect(published(more) == ["4 this."])
    }

    @Test func `the first text after a restart replaces the text of an earlier process`() {
        var tracker = RunTracker()
        tracker.followRun(own, session: main, startedAt: now, message: "hi", now: now)
        let changes = tracker.receive(event: "agent", payload: AgentFrame.text(own, 7, "Half of"), now: now)
        #expect(published(changes) == ["replaced Half of"])
    }

    @Test func `a text whose end was missed is completed from the transcript`() {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start(own), now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.text(own, 2, "One two"), now: now)
        tracker.relink(now: now)
        let changes = tracker.receive(history: page(turn(own, "One two three.", at: 10)), session: main, now: now)
        #expect(published(changes) == ["proven row", "7  three.", "proven end", "completed One two three."])
    }

    @Test(arguments: [
        // 2026.3.1 repeats the last message at the end, 2026.6.11 all of them without a break; nothing was heard of this run.
        "It is done.", "Let me check.It is done.", nil,
    ])
    func `texts around a tool are paragraphs, as the transcript has them`(final: String?) {
        var tracker = RunTracker()
        tracker.sent(own, session: main, text: "hi", now: now)
        if let final {
            for frame in [AgentFrame.text(own, 2, "Let me check."), AgentFrame.text(own, 5, "It is")] {
                _ = tracker.receive(event: "agent", payload: frame, now: now)
            }
            _ = tracker.receive(event: "chat", payload: ChatFrame.final(own, 7, final), now: now)
        }
        tracker.relink(now: now)
        let rows = turn(own, "Let me check.", at: 10) + turn(own, "It is done.", at: 20).dropFirst()
        _ = tracker.receive(history: page(rows), session: main, now: now)
        _ = tracker.tick(now: now.adding(milliseconds: 60_000))
        #expect(tracker.run(own)?.state == .completed)
        #expect(tracker.run(own)?.text == "Let me check.\n\nIt is done.")
    }

    @Test func `the transcript's words come before those that an earlier page showed`() {
        var tracker = RunTracker()
        tracker.followRun(own, session: main, startedAt: now, message: "hi", now: now)
        _ = tracker.receive(history: page([], active: own, text: "Let me check."), session: main, now: now)
        tracker.relink(now: now)
        let changes = tracker.receive(history: page(turn(own, "It is done.", at: 10)), session: main, now: now)
        #expect(published(changes) == ["replaced It is done.", "proven end", "completed It is done."])
    }

    private func published(_ key: String, _ sequence: Int, _ state: Step.State) -> Step {
        Step(
            id: "\(own):\(key)",
            runID: own,
            sequence: sequence,
            kind: .tool,
            tool: "exec",
            toolCallID: key,
            category: .terminal,
            label: state == .waiting ? "Waiting for approval: Running make" : "Running make...",
            state: state,
            startedAt: now
        )
    }

    @Test(arguments: [Step.State.running, .waiting])
    func `a step that an earlier process left open ends with its run`(state: Step.State) {
        var tracker = RunTracker()
        let step = published("c1", 3, state)
        tracker.followRun(own, session: main, startedAt: now, message: "hi", steps: [step], now: now)
        tracker.linkOpened(process: .other, now: now)
        let rows = [#"{"role":"user","content":"hi","timestamp":\#(now.milliseconds),"idempotencyKey":"\#(own)"}"#]
        let late = now.adding(milliseconds: GatewayProfile.resumeMs)
        let changes = tracker.receive(history: page(rows), session: main, now: late)
        let ended = changes.compactMap { change -> Step? in
            if case .stepChanged(let step) = change, step.kind != .error { step } else { nil }
        }
        #expect(ended.map(\.state) == [.failed] && ended.first?.sequence == 3)
        let label = state == .waiting ? "Asked for approval: Running make" : "Running make failed"
        #expect(ended.first?.label == label)
        #expect(tracker.run(own)?.steps.contains { $0.state.isOpen } == false)
    }

    @Test func `numbers of steps go on behind those published before`() {
        var tracker = RunTracker()
        let steps = [published("thinking:x", 1, .done), published("c1", 2, .done)]
        tracker.followRun(own, session: main, startedAt: now, steps: steps, now: now)
        for (frame, call) in ["c1", "c2"].enumerated() {
            let payload = AgentFrame.toolStart(own, frame + 5, call, "read", #"{"path":"a"}"#, at: 5)
            _ = tracker.receive(event: "agent", payload: payload, now: now)
        }
        #expect(tracker.run(own)?.steps.map(\.sequence).sorted() == [2, 4])
    }

    /// 2026.4.26, seen live.
    @Test func `a final text that lost repeated words is completed by the events of the agent`() {
        #expect(LostRepeats.explain(Array("a, b".utf8)[...], of: Array("a, a, a, b".utf8)[...]))
        #expect(LostRepeats.explain(Array("if:\n    x".utf8)[...], of: Array("if:\n            x".utf8)[...]))
        #expect(!LostRepeats.explain(Array("a, c".utf8)[...], of: Array("a, a, b".utf8)[...]))
        #expect(!LostRepeats.explain(Array("b".utf8)[...], of: Array("ab".utf8)[...]))
        let same = [UInt8](repeating: 0x61, count: 1 << 20)
        #expect(!LostRepeats.explain([0x61, 0x62], of: same[...]), "it costs little where nothing fits")
        let second = "You said: sage walnut walnut | and    more"
        // Ladle has had both messages, also behind those of a try that failed, or was killed and has had the second alone.
        for (isWhole, isAgain) in [(true, false), (true, true), (false, false)] {
            let first = isAgain ? "Well." : "Let me look."
            let shown = first + "You said: sage walnut | and more"
            var tracker = RunTracker()
            tracker.profile = GatewayProfile(.april)
            tracker.sent("k", session: main, text: "story", now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
            if isAgain {
                _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 1, "Half of"), now: now)
            }
            if isWhole {
                _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, first), now: now)
                let tool = AgentFrame.toolStart("k", 3, "t", "read", "{}", at: now.milliseconds)
                _ = tracker.receive(event: "agent", payload: tool, now: now)
            }
            _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 9, second), now: now)
            let changes = tracker.receive(event: "chat", payload: ChatFrame.final("k", 10, shown), now: now)
            let ended = changes.compactMap { if case .ended(let run) = $0 { run.text } else { nil } }
            #expect(ended == ["\(first)\n\n\(second)"], "\(isWhole) \(isAgain)")
        }
    }

    /// A model may say the same for a megabyte, and then a final event that fits nothing of it.
    @Test func `a long text of equal paragraphs is not compared with the final event at each of them`() {
        var tracker = RunTracker()
        tracker.profile = GatewayProfile(.april)
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        let long = String(repeating: "aaaaaa\n\n", count: 50_000)
        for (place, text) in ["Half of", long, "end"].enumerated() {
            _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2 + place, text), now: now)
        }
        let final = String(repeating: "a", count: 1_000) + "b"
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 10, final), now: now)
        #expect(tracker.run("k")?.state == .completed)
    }
}
