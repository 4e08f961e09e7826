import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// A run ends by evidence alone: kills of the gateway and of Ladle, ends without events, words that come too late.
struct RunEvidenceTests: EvidenceScene {
    // MARK: Ladle or the link was away

    /// 2026.3.1, seen live: an abort of the run before, in its first moments, had the gateway write the answer before once more.
    @Test func `a row that the gateway writes by itself is no answer of an interrupted run`() {
        var tracker = half(march)
        tracker.relink(process: .other, now: after(5_000))
        let again =
            answer("The one before.", at: 20).dropLast() + #","provider":"openclaw","model":"gateway-injected"}"#
        let changes = tracker.receive(
            history: page([user("story", at: 0), String(again)]),
            session: main,
            now: after(6_000)
        )
        let run = ends(changes).first
        #expect(run?.code == .interrupted)
        #expect(run?.text == "Half of")
    }

    /// Recording restart-in-process.v2026.3.1: the message was sent again under its key.
    @Test func `an empty final event after a failure does not complete the run`() {
        var tracker = half(GatewayProfile(.june))
        let failure = json(
            #"{"runId":"k","sessionKey":"agent:main:main","seq":3,"state":"final","message":{"role":"assistant","content":"#
                + #"[{"type":"text","text":"⚠️ Agent failed before reply: no"}],"model":"gateway-injected"}}"#
        )
        let failed = tracker.receive(event: "chat", payload: failure, now: after(1_000))
        #expect(ends(failed).map(\.state) == [.failed])
        let changes = tracker.receive(event: "chat", payload: ChatFrame.final("k", 1, nil), now: after(20_000))
        #expect(corrected(changes) == nil && tracker.run("k")?.state == .failed)
    }

    // MARK: A text that the gateway cut

    /// Recording long-answer-2mb.v2026.6.11: the history leaves the answer out, or has its beginning.
    @Test(arguments: ["[chat.history omitted: message too large]", "Half of it" + String(repeating: "x", count: 2_000)])
    func `an answer whose end was missed and whose row is cut is not told as whole`(row: String) {
        let cut = row.hasPrefix("[") ? row : row + "\\n...(truncated)..."
        let rows = page([user("story", at: 0, key: "k"), answer(cut, at: 9_000)], status: "done")
        var tracker = half(GatewayProfile(.june))
        tracker.relink(process: .same, now: after(10_000))
        let run = ends(tracker.receive(history: rows, session: main, now: after(11_000))).first
        #expect(run?.state == .completed && run?.isTruncated == true)
        #expect(run?.text == (row.hasPrefix("[") ? "Half of" : row))
        let shown = MessagePage(history: rows, session: main, tracker: tracker, sent: [], now: after(12_000)).messages
        #expect(shown.last?.isTruncated == true && shown.last?.text == run?.text)
        var unseen = RunTracker()
        unseen.profile = GatewayProfile(.june)
        unseen.followRun("k", session: main, startedAt: now, message: "story", now: after(3_000))
        unseen.linkOpened(process: .same, now: after(3_000))
        let late = ends(unseen.receive(history: rows, session: main, now: after(11_000))).first
        #expect(late?.isTruncated == true && late?.text == (row.hasPrefix("[") ? "" : row))
    }

    /// Recording token-rotated.v2026.6.11: while Ladle was away, the gateway was restarted, went on with the run and answered anew.
    @Test func `a run that was answered anew has the text of that answer`() {
        var tracker = half(GatewayProfile(.june))
        tracker.relink(process: .same, now: after(10_000))
        let rows = page([user("story", at: 0, key: "k"), answer("Once upon a time.", at: 9_000)], status: "done")
        let run = ends(tracker.receive(history: rows, session: main, now: after(11_000))).first
        #expect(run?.text == "Once upon a time." && run?.isTruncated == false)
    }

    @Test func `an answer as long as gateways let events be is not told as whole`() {
        for (length, isTruncated) in [(499_999, false), (500_000, true)] {
            var tracker = half(GatewayProfile(.june))
            let text = String(repeating: "x", count: length)
            let run = ends(tracker.receive(event: "chat", payload: ChatFrame.final("k", 3, text), now: after(1_000)))
            #expect(run.first?.isTruncated == isTruncated)
        }
    }

    @Test func `the answer to the message before is not the answer`() {
        var tracker = RunTracker()
        tracker.profile = march
        tracker.followRun("k", session: main, startedAt: now, message: "story", now: after(3_000))
        tracker.linkOpened(process: .same, now: after(3_000))
        let before = [user("hello", at: -900), answer("Hello!", at: -400)]
        for rows in [before, before + [user("story", at: 0)]] {
            #expect(ends(tracker.receive(history: page(rows), session: main, now: after(4_000))).isEmpty)
        }
        let whole = before + [user("story", at: 0), answer("Once upon a time.", at: 9_000)]
        let run = ends(tracker.receive(history: page(whole), session: main, now: after(10_000))).first
        #expect(run?.text == "Once upon a time." && run?.state == .completed)
    }

    @Test func `a silent tool is no end, however long it takes`() {
        var tracker = RunTracker()
        tracker.profile = march
        tracker.followRun("k", session: main, startedAt: now, message: "tool", now: after(3_000))
        tracker.linkOpened(process: .same, now: after(3_000))
        let rows = page([user("tool", at: 0), answer("", at: 500, "toolUse")])
        for minute in Int64(1)...30 {
            #expect(ends(tracker.receive(history: rows, session: main, now: after(minute * 60_000))).isEmpty)
            #expect(tracker.questions(main, now: after(minute * 60_000)) == [.state(of: "k")])
            _ = tracker.receive(.unknown, run: "k", now: after(minute * 60_000))
            #expect(ends(tracker.tick(now: after(minute * 60_000))).isEmpty)
        }
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 20, "It is done."), now: after(1_900_000))
        #expect(tracker.questions(main, now: after(1_900_000)).isEmpty)
        let final = ChatFrame.final("k", 21, "It is done.")
        _ = tracker.receive(event: "chat", payload: final, now: after(1_900_000))
        #expect(tracker.run("k")?.state == .running)
        #expect(ends(tracker.tick(now: after(1_901_000))).first?.text == "It is done.")
    }

    @Test func `the gateway's word that a run is over brings its rows before its end`() {
        var tracker = half(april)
        tracker.relink(now: after(1_000))
        let asked = page([user("story", at: 0)])
        _ = tracker.receive(history: asked, session: main, now: after(1_000))
        _ = tracker.receive(.ended, run: "k", now: after(1_100))
        let isWanted = tracker.takePageRequest()
        #expect(isWanted && tracker.looks(after(1_600)) == [main])
        // A page that was asked for before says nothing new.
        let early = tracker.receive(
            ChatHistory.Output(asked),
            session: main,
            askedAt: after(1_000),
            now: after(1_200)
        )
        #expect(ends(early).isEmpty)
        let rows = page([user("story", at: 0), answer("Half of it and the rest.", at: 900)])
        let run = ends(tracker.receive(history: rows, session: main, now: after(1_700))).first
        #expect(run?.state == .completed && run?.text == "Half of it and the rest.")
    }

    @Test func `an end that neither rows nor events show is unknown, not success`() {
        var tracker = half(april)
        tracker.relink(now: after(1_000))
        _ = tracker.receive(.ended, run: "k", now: after(1_100))
        let run = ends(tracker.receive(history: page([user("story", at: 0)]), session: main, now: after(2_000))).first
        #expect(run?.state == .failed && run?.error == Ending.unknownEnd && run?.text == "Half of")
    }

    // MARK: The gateway was killed

    @Test func `a run whose process is gone is interrupted, with its partial text`() {
        for (profile, rows) in [
            (march, page([user("story", at: 0)])),
            (GatewayProfile(.june), page([user("story", at: 0, key: "k")], status: "failed")),
        ] {
            var tracker = half(profile)
            let call = AgentFrame.toolStart("k", 3, "c", "exec", #"{"command":"make test"}"#, at: 10)
            _ = tracker.receive(event: "agent", payload: call, now: now)
            tracker.relink(process: .other, now: after(5_000))
            let run = ends(tracker.receive(history: rows, session: main, now: after(5_100))).first
            #expect(run?.state == .failed && run?.code == .interrupted && run?.text == "Half of")
            #expect(run?.steps.map(\.state).contains(.done) == false)
            #expect(run?.mayReturn == profile.resumesRuns, "June was seen to go on nine minutes after its start")
        }
    }

    @Test func `an answer that was whole before the kill is the answer`() {
        var tracker = half(march)
        tracker.relink(process: .other, now: after(5_000))
        let rows = page([user("story", at: 0), answer("Half of it and the rest.", at: 900)])
        let run = ends(tracker.receive(history: rows, session: main, now: after(5_100))).first
        #expect(run?.state == .completed && run?.text == "Half of it and the rest.")
    }

    @Test(arguments: [true, false])
    func `a run that the gateway takes up by itself goes on under its id`(namesWords: Bool) {
        var tracker = half(namesWords ? GatewayProfile(.june) : april)
        tracker.relink(process: .other, now: after(5_000))
        let left = page([user("story", at: 0, key: namesWords ? "k" : nil)], status: namesWords ? "running" : nil)
        for time in stride(from: Int64(5_000), to: 34_000, by: 2_000) {
            #expect(ends(tracker.receive(history: left, session: main, now: after(time))).isEmpty)
        }
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("g", now.milliseconds + 34_000),
            now: after(34_000)
        )
        let notice =
            "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting. Continue."
        let words =
            namesWords ? #"[Queued user message that arrived while the previous turn was still active]\nstory\n\n"# : ""
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(user(words + notice, at: 34_000))}"#
        )
        let changes = tracker.receive(event: "session.message", payload: row, now: after(34_010))
        #expect(ends(changes).first?.code == .interrupted)
        #expect(changes.contains(.reassigned(from: "k", to: "g")))
        #expect(tracker.run("g")?.state == .running)
    }

    @Test func `a gateway that does not take the run up has had its time`() {
        var tracker = half(april)
        tracker.relink(process: .other, now: after(5_000))
        let left = page([user("story", at: 0)])
        #expect(ends(tracker.receive(history: left, session: main, now: after(64_000))).isEmpty)
        #expect(ends(tracker.receive(history: left, session: main, now: after(65_000))).first?.code == .interrupted)
    }

    @Test func `each process of the gateway has its time to take the run up`() {
        var tracker = half(april)
        tracker.relink(process: .other, now: after(5_000))
        let left = page([user("story", at: 0)])
        #expect(ends(tracker.receive(history: left, session: main, now: after(50_000))).isEmpty)
        tracker.relink(process: .other, now: after(55_000))
        #expect(ends(tracker.receive(history: left, session: main, now: after(114_000))).isEmpty)
        #expect(ends(tracker.receive(history: left, session: main, now: after(115_000))).first?.code == .interrupted)
    }

    /// Given up 60 s after the restart.
    private func givenUp() -> RunTracker {
        var tracker = half(GatewayProfile(.june))
        tracker.relink(process: .other, now: after(5_000))
        #expect(tracker.takeLooks(now: after(5_000), room: 5, except: []) == [main])
        let left = page([user("story", at: 0, key: "k")], status: "running")
        #expect(ends(tracker.receive(history: left, session: main, now: after(65_000))).first?.code == .interrupted)
        return tracker
    }

    @Test func `a run that the gateway takes up after it was given up names the one that goes on`() {
        var tracker = givenUp()
        tracker.relink(process: .other, now: after(200_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("g", now.milliseconds + 540_000),
            now: after(540_000)
        )
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(takenUp("story", at: 540_000))}"#
        )
        let changes = tracker.receive(event: "session.message", payload: row, now: after(540_010))
        #expect(changes.contains(.reassigned(from: "k", to: "g")))
        let run = corrected(changes)
        #expect(run?.id == "k" && run?.state == .failed && run?.continuedAs == "g")
        #expect(corrected(tracker.receive(event: "session.message", payload: row, now: after(540_020))) == nil)
    }

    @Test func `a run that was given up and answered while the link was away is corrected`() {
        var tracker = givenUp()
        #expect(tracker.takeLooks(now: after(70_000), room: 5, except: []).isEmpty)
        tracker.relink(process: .same, now: after(500_000))
        #expect(tracker.takeLooks(now: after(500_000), room: 5, except: []) == [main])
        #expect(tracker.takeLooks(now: after(900_000), room: 5, except: []).isEmpty, "once is enough")
        let rows = [user("story", at: 0, key: "k"), takenUp("story", at: 400_000), answer("Whole.", at: 401_000)]
        let run = corrected(tracker.receive(history: page(rows), session: main, now: after(500_100)))
        #expect(run?.state == .completed && run?.text == "Whole.")
    }

    /// Given up by an earlier process of Ladle, of which the database alone tells.
    private func remembered(
        goneAt: Int64,
        now later: Int64,
        _ delivery: KnownRun.Message.Delivery = .over
    ) -> RunTracker {
        var tracker = RunTracker()
        let run = Run(
            id: "k",
            session: main,
            state: .failed,
            startedAt: now,
            endedAt: after(3_000),
            text: "Onc",
            end: .interrupted
        )
        let message = KnownRun.Message("story", sentAt: now, delivery: delivery)
        let known = KnownRun(run, message: message, goneAt: after(goneAt))
        #expect(tracker.follow(known, now: after(later)).isEmpty)
        return tracker
    }

    /// - Parameter delivery: the message may wait to be sent again, as it left no trace on a page.
    @Test(arguments: [KnownRun.Message.Delivery.over, .lost])
    func `a run that an earlier process gave up names the one that goes on`(_ delivery: KnownRun.Message.Delivery) {
        var tracker = remembered(goneAt: 5_000, now: 200_000, delivery)
        #expect(tracker.run("k") == nil && tracker.runs().isEmpty && tracker.busyRuns.isEmpty, "the database has it")
        tracker.relink(process: .same, now: after(201_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("g", now.milliseconds + 540_000),
            now: after(540_000)
        )
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(takenUp("story", at: 540_000))}"#
        )
        let run = corrected(tracker.receive(event: "session.message", payload: row, now: after(540_010)))
        #expect(run?.id == "k" && run?.state == .failed && run?.text == "Onc")
        #expect(run?.continuedAs == "g")
        #expect(run?.startedAt == now && run?.endedAt == after(3_000))
    }

    @Test func `a run that an earlier process gave up and that was answered unseen is corrected`() {
        var tracker = remembered(goneAt: 5_000, now: 200_000)
        tracker.relink(process: .other, now: after(500_000))
        #expect(tracker.takeLooks(now: after(500_000), room: 5, except: []) == [main])
        let rows = [user("story", at: 0, key: "k"), takenUp("story", at: 400_000), answer("Whole.", at: 401_000)]
        let run = corrected(tracker.receive(history: page(rows), session: main, now: after(500_100)))
        #expect(run?.state == .completed && run?.text == "Whole." && run?.executedAgain == true)
    }

    @Test func `a run that was given up long ago is not remembered`() {
        var tracker = remembered(goneAt: 5_000, now: 3_605_000)
        tracker.relink(process: .same, now: after(3_606_000))
        #expect(tracker.takeLooks(now: after(3_606_000), room: 5, except: []).isEmpty)
    }

    @Test func `a message without a trace may be sent again, and its run begins anew`() {
        var tracker = half(march, isDelivered: false)
        tracker.relink(process: .other, now: after(5_000))
        #expect(ends(tracker.receive(history: page([]), session: main, now: after(6_000))).isEmpty)
        #expect(tracker.busyRuns.isEmpty)
        tracker.sent("k", session: main, text: "story", now: after(7_000))
        var changes = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("k", now.milliseconds + 7_100),
            now: after(7_100)
        )
        changes += tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, "Once"), now: after(7_200))
        #expect(changes == [.textReplaced(run: "k", text: ""), .textAppended(run: "k", offset: 0, text: "Once")])
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 3, "Once."), now: after(7_300))
        let run = ends(tracker.tick(now: after(8_400))).first
        #expect(run?.state == .completed && run?.text == "Once." && run?.executedAgain == true)
    }

    /// 2026.4.26, seen live: Ladle was killed between the second sending and the second start.
    @Test(arguments: [true, false])
    func `a message that was begun, lost and sent again before Ladle's restart is told as executed again`(
        hadBegun: Bool
    ) {
        var tracker = RunTracker()
        let known = Run(id: "k", session: main, state: .running, startedAt: now, text: "Onc")
        let message = KnownRun.Message("story", sentAt: after(7_000), delivery: .open, hadBegun: hadBegun)
        _ = tracker.follow(KnownRun(known, message: message), now: after(8_000))
        tracker.relink(process: .same, now: after(9_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("k", after(9_500).milliseconds),
            now: after(9_500)
        )
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 3, "Once."), now: after(9_900))
        let run = ends(tracker.tick(now: after(20_000))).first ?? tracker.run("k")
        #expect(run?.state == .completed && run?.executedAgain == hadBegun)
    }

    @Test func `a message that is given up ends the run that left no trace`() {
        var tracker = half(march, isDelivered: false)
        tracker.relink(process: .other, now: after(5_000))
        tracker.deliveryIsOver("k")
        #expect(ends(tracker.receive(history: page([]), session: main, now: after(8_000))).first?.code == .interrupted)
    }

    // MARK: Behind the end

    @Test func `nothing of a run comes after its end, and a wrong end is corrected`() {
        var tracker = half(GatewayProfile(.june))
        tracker.relink(process: .other, now: after(5_000))
        let left = page([user("story", at: 0, key: "k")], status: "failed")
        #expect(ends(tracker.receive(history: left, session: main, now: after(5_100))).count == 1)
        for frame in [
            AgentFrame.text("k", 9, "Half of it"), AgentFrame.toolStart("k", 10, "c", "read", "{}", at: 9),
            AgentFrame.end("k", 11),
        ] { #expect(tracker.receive(event: "agent", payload: frame, now: after(6_000)).isEmpty) }
        let final = ChatFrame.final("k", 12, "Half of it and the rest.")
        let changes = tracker.receive(event: "chat", payload: final, now: after(6_100))
        guard case .corrected(let run)? = changes.first else { return #expect(Bool(false), "no correction") }
        #expect(changes.count == 1 && run.state == .completed && run.text == "Half of it and the rest.")
        #expect(tracker.receive(event: "chat", payload: final, now: after(6_200)).isEmpty)
    }

    @Test func `the correction of a run whose message has no proof yet is that proof`() {
        var tracker = half(april, isDelivered: false)
        let start = changed(#""phase":"start","runId":"k","ts":1795000000000,"session":{"sessionId":"c1"}"#)
        _ = tracker.receive(event: "sessions.changed", payload: start, now: now)
        tracker.relink(process: .same, now: after(5_000))
        #expect(ends(tracker.receive(history: page([], id: "c2"), session: main, now: after(5_100))).count == 1)
        let changes = tracker.receive(event: "chat", payload: ChatFrame.final("k", 3, "Whole."), now: after(5_200))
        #expect(corrected(changes)?.text == "Whole.")
        #expect(changes.contains { if case .proven("k", .end) = $0 { true } else { false } })
    }

    @Test func `what a tool of an aborted run still reports changes nothing`() {
        var tracker = half(GatewayProfile(.june))
        let call = AgentFrame.toolStart("k", 3, "c", "exec", #"{"command":"sleep 60"}"#, at: 10)
        _ = tracker.receive(event: "agent", payload: call, now: now)
        _ = tracker.receive(event: "chat", payload: ChatFrame.make("k", 4, "aborted"), now: now)
        #expect(tracker.run("k")?.steps.map(\.state) == [.cancelled])
        let late = AgentFrame.toolResult("k", 1, "c", "exec", at: 200)
        #expect(tracker.receive(event: "agent", payload: late, now: after(200)).isEmpty)
        let row =
            #"{"role":"toolResult","toolCallId":"c","toolName":"exec","isError":true,"timestamp":1795000000300,"content":"aborted"}"#
        _ = tracker.receive(history: page([user("story", at: 0, key: "k"), row]), session: main, now: after(400))
        #expect(tracker.run("k")?.steps.map(\.state) == [.cancelled])
    }

    @Test func `a reset of the conversation ends the run that belonged to the former one`() {
        var tracker = half(march)
        _ = tracker.receive(history: page([user("story", at: 0)]), session: main, now: after(100))
        #expect(
            ends(tracker.receive(history: page([], id: "c2"), session: main, now: after(20_000))).first?.state
                == .aborted
        )
    }

    /// 2026.3.1 drains before its restart; Ladle was killed since, and knows nothing of the turn before.
    @Test func `a run that the gateway turned away has no answer of the turn before`() {
        var tracker = RunTracker()
        tracker.profile = march
        let notice = "⚠️ Agent failed before reply: Gateway is draining for restart; new tasks are not accepted."
        let message =
            #"{"role":"assistant","model":"gateway-injected","content":[{"type":"text","text":"\#(notice)"}]}"#
        let drained = ChatFrame.make("other", 1, "final", #","message":\#(message)"#)
        _ = tracker.receive(event: "chat", payload: drained, now: after(16_000))
        let rows = page([user("hi", at: 0), answer("Hello.", at: 100)])
        let changes = tracker.receive(history: rows, session: main, now: after(16_500))
        #expect(ends(changes).map(\.text) == [""])
        #expect(ends(changes).map(\.state) == [.failed])
    }

    /// 2026.3.1, seen live: the stop was confirmed 1 ms after the answer, and the event of the stop came behind the answer.
    @Test func `an answer that came before the event of its stop is an answer`() {
        var tracker = half(march)
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 3, "Half of it."), now: after(200))
        let aborted = ChatFrame.make("k", 4, "aborted")
        var changes = tracker.receive(event: "chat", payload: aborted, now: after(204))
        let rows = page([user("story", at: 0), answer("Half of it.", at: 190)])
        changes += tracker.receive(history: rows, session: main, now: after(700))
        #expect(ends(changes).map(\.state) == [.completed])
        #expect(ends(changes).map(\.text) == ["Half of it."])
    }

    /// 2026.3.1, seen live: a picture without words is answered by the gateway itself, which writes a row of its answer alone.
    @Test(arguments: [("Please add a caption.", ["completed Please add a caption."]), ("Hello.", [])], [true, false])
    func `what the gateway says by itself answers a message, and the answer before once more does not`(
        _ each: (said: String, expected: [String]),
        hasSaidItBefore: Bool
    ) {
        let (said, expected) = each
        var tracker = RunTracker()
        tracker.profile = march
        tracker.sent("k", session: main, text: "", now: now)
        let final = ChatFrame.final("k", 1, said)
        var changes = tracker.receive(event: "chat", payload: final, now: after(300))
        let before = injected("Please add a caption.", at: -7_000)
        let rows = page(
            [user("hi", at: -9_000), answer("Hello.", at: -8_000)] + (hasSaidItBefore ? [before] : [])
                + [injected(said, at: 290)]
        )
        changes += tracker.receive(history: rows, session: main, now: after(900))
        #expect(ends(changes).map { "\($0.state) \($0.text)" } == expected)
    }

    /// 2026.6.11, seen live: the link was cut between the end of our run and the start of another client's.
    @Test func `an answer that comes alone is not that of the run before the last turn`() {
        var tracker = half(GatewayProfile(.june))
        tracker.relink(now: after(4_000))
        let rows = [
            user("story", at: 0, key: "k"), answer("Half of it.", at: 900, "toolUse"),
            user("and mine", at: 1_800, key: "x"),
        ]
        let flight = json(
            #"{"sessionId":"c1","messages":[\#(rows.joined(separator: ","))],"inFlightRun":{"runId":"x","text":"Yours"},"#
                + #""sessionInfo":{"hasActiveRun":true,"status":"running"}}"#
        )
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("x", 2, "Yours"), now: after(4_500))
        _ = tracker.receive(history: flight, session: main, now: after(4_600))
        let own = answer("Yours too.", at: 3_900)
        let row = json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(own)}"#)
        _ = tracker.receive(event: "session.message", payload: row, now: after(4_700))
        _ = tracker.receive(event: "agent", payload: AgentFrame.end("k", 3, at: 1_900), now: after(5_000))
        let final = json(#"{"runId":"k","sessionKey":"agent:main:main","seq":4,"state":"final"}"#)
        _ = tracker.receive(event: "chat", payload: final, now: after(5_000))
        for time in [5_500, 9_500, 30_000] as [Int64] {
            let whole = page(rows + [own], status: "done")
            _ = tracker.receive(history: whole, session: main, now: after(time))
        }
        #expect(tracker.run("k")?.state == .completed)
        #expect(tracker.run("k")?.text == "Half of it.")
    }
}
