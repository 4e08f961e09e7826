import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// Runs with which a restarted gateway may go on, and runs with which it does not.
struct ContinuedRunTests: EvidenceScene {
    /// The runs that a stop of `k` would stop without a person's word.
    private func stopFollows(_ changes: [RunChange]) -> [String] {
        changes.compactMap {
            if case .reassigned(from: "k", let run, isShared: false) = $0 { run } else { nil }
        }
    }

    // MARK: Wrong ties

    /// The person stops a message and sends the same words again; then the gateway is killed.
    @Test func `the resent message's continuation is not stopped`() {
        var tracker = stopped()
        tracker.sent("k2", session: main, text: "story", now: after(5_000))
        tracker.deliveryIsOver("k2")
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("k2", now.milliseconds + 5_000),
            now: after(5_000)
        )
        tracker.relink(process: .other, now: after(10_000))
        let first = goOn(&tracker, takenUp("story", at: 16_000), at: 16_000)
        #expect(first.contains(.reassigned(from: "k2", to: "g")), "\(first)")
        #expect(tracker.run("g")?.executedAgain == true && tracker.run("k2")?.executedAgain == false)
        #expect(stopFollows(first) == [])
        // The model thinks for 20 s, so a page is read.
        #expect(tracker.looks(after(40_000)) == [main])
        let rows = [
            user("story", at: 0, key: "k"), user("story", at: 5_000, key: "k2"), takenUp("story", at: 16_000),
        ]
        let second = tracker.receive(history: page(rows), session: main, now: after(40_100))
        #expect(stopFollows(second) == [], "\(second)")
        #expect(corrected(second) == nil)
    }

    /// 2026.4.26, seen live: the next run had ended before a page showed what it went on with, and was never told as executed again.
    @Test func `a run that ended before it was tied is corrected`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.sent("k", session: main, text: "story", now: now)
        tracker.deliveryIsOver("k")
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k"), now: now)
        tracker.relink(process: .other, now: after(10_000))
        let began = AgentFrame.start("g", now.milliseconds + 16_000)
        _ = tracker.receive(event: "agent", payload: began, now: after(16_000))
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("g", 9, "Once."), now: after(16_900))
        _ = tracker.tick(now: after(30_000))
        #expect(tracker.run("g")?.state == .completed && tracker.run("g")?.executedAgain == false)
        let rows = [user("story", at: 0), takenUp("story", at: 16_000)]
        let changes = tracker.receive(history: page(rows), session: main, now: after(30_100))
        #expect(changes.contains(.reassigned(from: "k", to: "g")), "\(changes)")
        let again = changes.compactMap { if case .corrected(let run) = $0 { run } else { nil } }
        #expect(again.map(\.id) == ["g"] && again.first?.executedAgain == true, "\(changes)")
    }

    /// The second of two equal messages waits behind the stopped one.
    @Test func `a prompt that may be another message's of ours is shared`() {
        var tracker = half(GatewayProfile(.june))
        tracker.sent("k2", session: main, text: "story", now: after(1_000))
        stop(&tracker)
        tracker.relink(process: .other, now: after(10_000))
        let changes = goOn(&tracker, takenUp("story", at: 16_000), at: 16_000)
        #expect(stopFollows(changes) == [], "\(changes)")
    }

    /// Ten hours after the stop, while this computer slept, another client said the same words.
    @Test(arguments: [false, true])
    func `another client's equal words hours later are not stopped`(isPage: Bool) {
        var tracker = stopped()
        let hours: Int64 = 36_000_000
        tracker.relink(process: .same, now: after(60_000))
        tracker.relink(process: .same, now: after(hours - 600_000))
        tracker.relink(process: .other, startedAt: after(hours - 5_000), now: after(hours))
        if isPage {
            let rows = [user("story", at: 0, key: "k"), user("story", at: hours - 60_000, key: "theirs")]
            _ = tracker.receive(history: page(rows), session: main, now: after(hours + 100))
        }
        let changes = goOn(&tracker, takenUp("story", at: hours + 2_000), at: hours + 2_000)
        #expect(stopFollows(changes) == [], "\(changes)")
        #expect(corrected(changes) == nil)
    }

    /// 2026.4.26: the page shows that another turn followed the stopped one. The prompt names no message.
    @Test func `a prompt without words goes on with the last turn, not with the stopped one`() {
        var tracker = stopped(april)
        tracker.relink(process: .other, startedAt: after(17_000), now: after(20_000))
        let rows = [user("story", at: 0, key: "k"), user("something else", at: 10_000)]
        _ = tracker.receive(history: page(rows), session: main, now: after(20_100))
        let changes = goOn(&tracker, user(notice, at: 54_000), at: 54_000)
        #expect(stopFollows(changes) == [], "\(changes)")
    }

    /// The clocks differ by five minutes, and another run followed two minutes after the stop.
    @Test func `a difference of the clocks does not make a stopped run the last one`() {
        var tracker = RunTracker()
        let skew: Int64 = -300_000
        tracker.clockSkewMs = skew
        tracker.sent("k", session: main, text: "story", now: now)
        tracker.deliveryIsOver("k")
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds + skew), now: now)
        stop(&tracker)
        let next = AgentFrame.start("s", now.milliseconds + skew + 123_000)
        _ = tracker.receive(event: "agent", payload: next, now: after(123_000))
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("s", 2, "done"), now: after(125_000))
        tracker.relink(process: .other, now: after(130_000))
        let start = AgentFrame.start("g", now.milliseconds + skew + 136_000)
        _ = tracker.receive(event: "agent", payload: start, now: after(136_000))
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(takenUp("story", at: skew + 136_000))}"#
        )
        let changes = tracker.receive(event: "session.message", payload: row, now: after(136_010))
        #expect(stopFollows(changes) == [], "\(changes)")
    }

    // MARK: Runs of other clients

    /// Another client's run, which has said "Half of". Its row comes as an event.
    private func strangerBegins(_ tracker: inout RunTracker, at time: Int64) {
        let start = AgentFrame.start("s", now.milliseconds + time)
        _ = tracker.receive(event: "agent", payload: start, now: after(time))
        let row = user("story", at: time - 500, key: "s")
        let message = json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(row)}"#)
        _ = tracker.receive(event: "session.message", payload: message, now: after(time + 200))
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("s", 2, "Half of"), now: after(time + 300))
    }

    /// The gateway was killed during another client's run.
    private func halfOfStranger() -> RunTracker {
        var tracker = RunTracker()
        strangerBegins(&tracker, at: 0)
        tracker.relink(process: .other, startedAt: after(30_000), now: after(34_000))
        return tracker
    }

    /// 2026.6.11, seen live: the run was told as failed although the gateway went on with it. No page had shown its row.
    @Test func `another client's run is gone on with`() {
        var tracker = halfOfStranger()
        let changes = goOn(&tracker, takenUp("story", at: 40_000), at: 40_000)
        #expect(changes.contains(.reassigned(from: "s", to: "g")), "\(changes)")
        #expect(tracker.run("s")?.end == .interrupted && tracker.run("s")?.continuedAs == "g")
        let prompted = page([takenUp("story", at: 40_000)], status: "running", active: true)
        _ = tracker.receive(history: prompted, session: main, now: after(40_300))
        #expect(tracker.run("g")?.state == .running && tracker.run("g")?.executedAgain == true)
        // The next restart interrupts that run too.
        tracker.relink(process: .other, startedAt: after(50_000), now: after(51_000))
        let again = AgentFrame.start("h", now.milliseconds + 60_000)
        _ = tracker.receive(event: "agent", payload: again, now: after(60_000))
        let rows = page([takenUp("story", at: 60_000)], status: "running", active: true)
        _ = tracker.receive(history: rows, session: main, now: after(60_100))
        #expect(tracker.run("g")?.continuedAs == "h")
    }

    /// The gateway, which has just started, begins the run some seconds after it has replaced the row.
    @Test(arguments: [true, false])
    func `another client's run that the gateway may go on with is waited for`(goesOn: Bool) {
        var tracker = halfOfStranger()
        let rows = page([takenUp("story", at: 40_000)], status: "running", active: goesOn)
        let changes = tracker.receive(history: rows, session: main, now: after(40_300))
        #expect(ends(changes) == [] && tracker.run("s")?.state == .running, "\(changes)")
        if goesOn {
            let start = AgentFrame.start("g", now.milliseconds + 43_000)
            _ = tracker.receive(event: "agent", payload: start, now: after(43_000))
            let isPageWanted = tracker.takePageRequest()
            #expect(isPageWanted)
        }
        _ = tracker.receive(history: rows, session: main, now: after(100_000))
        #expect(tracker.run("s")?.state == .failed && tracker.run("s")?.continuedAs == (goesOn ? "g" : nil))
    }

    /// The answer was complete before Ladle was connected again.
    @Test func `another client's run that the gateway answered unseen is completed`() {
        var tracker = halfOfStranger()
        let rows = page([takenUp("story", at: 31_000), answer("Whole.", at: 33_000)], status: "done")
        let changes = tracker.receive(history: rows, session: main, now: after(34_300))
        #expect(ends(changes).first?.state == .completed, "\(changes)")
        #expect(tracker.run("s")?.text == "Whole." && tracker.run("s")?.executedAgain == true)
    }

    /// A person stopped our message; then another client sent the same words.
    @Test func `another client's run is gone on with, and not ours with the same words`() {
        var tracker = stopped()
        strangerBegins(&tracker, at: 5_000)
        tracker.relink(process: .other, startedAt: after(9_000), now: after(10_000))
        let changes = goOn(&tracker, takenUp("story", at: 16_000), at: 16_000)
        #expect(changes.contains(.reassigned(from: "s", to: "g")), "\(changes)")
        #expect(stopFollows(changes) == [] && tracker.run("k")?.continuedAs == nil)
    }

    /// 2026.6.11, seen live: gateway and Ladle were killed during our message's run, and the link was away while the gateway went on.
    /// A slow gateway reports the end of its own run seconds after the answer is in the transcript.
    @Test func `a run of an earlier Ladle that the gateway answered unseen is told once, as executed again`() {
        var tracker = RunTracker()
        tracker.followRun("k", session: main, startedAt: now, message: "story", text: "Half of", now: after(5_000))
        tracker.relink(process: .other, startedAt: after(6_000), now: after(8_000))
        _ = tracker.receive(history: page([user("story", at: 0, key: "k")]), session: main, now: after(8_300))
        tracker.relink(process: .same, startedAt: after(6_000), now: after(34_000))
        let rows = [takenUp("story", at: 31_000), answer("Whole.", at: 33_000)]
        let changes = tracker.receive(
            history: page(rows, status: "running", active: true),
            session: main,
            now: after(34_300)
        )
        #expect(ends(changes).map(\.text) == ["Whole."] && ends(changes).first?.executedAgain == true, "\(changes)")
        let end =
            #"{"phase":"end","startedAt":\#(after(28_500).milliseconds),"endedAt":\#(after(37_900).milliseconds)}"#
        var late = tracker.receive(
            event: "agent",
            payload: AgentFrame.make("g", 10, "lifecycle", end, at: 37_900),
            now: after(38_000)
        )
        late += tracker.receive(event: "chat", payload: ChatFrame.final("g", 10, "Whole."), now: after(38_000))
        #expect(late.isEmpty, "\(late)")
        #expect(tracker.run("g")?.id == "k")
        // The session's next run is another client's.
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("s", now.milliseconds + 39_000),
            now: after(39_000)
        )
        #expect(tracker.run("s")?.id == "s" && tracker.run("s")?.executedAgain == false)
    }

    // MARK: Untrue corrections

    /// As 3, but the other client's answer was complete before Ladle was connected again.
    @Test func `another client's answer does not become the stopped run's`() {
        var tracker = stopped()
        let hours: Int64 = 36_000_000
        tracker.relink(process: .other, startedAt: after(hours - 30_000), now: after(hours))
        let rows = [
            user("story", at: 0, key: "k"), user("story", at: hours - 60_000, key: "theirs"),
            takenUp("story", at: hours - 24_000), answer("Theirs.", at: hours - 20_000),
        ]
        let changes = tracker.receive(history: page(rows), session: main, now: after(hours + 100))
        #expect(corrected(changes) == nil, "\(changes)")
    }

    // MARK: Stops that do not follow

    /// 2026.4.26 went on with the run before Ladle was connected again.
    /// The control is a run that was not stopped: it is tied.
    @Test(arguments: [true, false])
    func `a stop follows a run that Ladle joined late`(isStopped: Bool) {
        var tracker = isStopped ? stopped(april) : half(april)
        tracker.relink(process: .other, startedAt: after(10_000), now: after(50_000))
        #expect(tracker.looks(after(50_000)) == [main])
        let rows = [user("story", at: 0), user(notice, at: 44_000)]
        var changes = tracker.receive(history: page(rows), session: main, now: after(50_100))
        // It writes for two minutes.
        for second: Int64 in 0..<120 {
            let time = 51_000 + second * 1_000
            let piece = AgentFrame.make("g", Int(second) + 5, "assistant", #"{"text":"x","delta":"x"}"#, at: time)
            changes += tracker.receive(event: "agent", payload: piece, now: after(time))
            let delta = ChatFrame.piece("g", Int(second) + 5, "x")
            changes += tracker.receive(event: "chat", payload: delta, now: after(time))
            changes += tracker.tick(now: after(time))
            for _ in tracker.looks(after(time)) {
                changes += tracker.receive(history: page(rows), session: main, now: after(time + 100))
            }
        }
        #expect(stopFollows(changes) == ["g"])
    }

    /// 2026.6.11, seen live: a message before was stopped; the gateway was restarted, and then the link broke once more.
    @Test func `a run that waits to be gone on with does so over a break of the link`() {
        var tracker = stopped()
        tracker.sent("k2", session: main, text: "poem", now: after(5_000))
        tracker.relink(process: .other, startedAt: after(9_000), now: after(10_000))
        let rows = [
            user("story", at: 0, key: "k"), answer("Half of", at: 3_000, "aborted"),
            user("poem", at: 5_000, key: "k2"), answer("A poem", at: 6_000, "toolUse"),
        ]
        var changes = tracker.receive(history: page(rows, status: "running"), session: main, now: after(10_100))
        tracker.deliveryIsOver("k2")
        changes += tracker.receive(history: page(rows, status: "running"), session: main, now: after(12_000))
        tracker.relink(process: .same, startedAt: after(9_000), now: after(14_000))
        let start = AgentFrame.start("g", now.milliseconds + 30_000)
        changes += tracker.receive(event: "agent", payload: start, now: after(30_000))
        let prompted = page(rows + [user(notice, at: 30_000)], status: "running", active: true)
        changes += tracker.receive(history: prompted, session: main, now: after(30_100))
        let ties = changes.filter { if case .reassigned = $0 { true } else { false } }
        #expect(ties == [.reassigned(from: "k2", to: "g")])
        #expect(tracker.run("k2")?.continuedAs == "g")
    }

    /// The gateway, which has just started, did not answer the one look.
    @Test func `a look that failed is repeated`() {
        var tracker = stopped()
        tracker.relink(process: .other, now: after(6_000))
        #expect(tracker.looks(after(6_000)) == [main])
        #expect(tracker.looks(after(7_000)).isEmpty)
        tracker.lookFailed(main)
        #expect(tracker.wantsLooks(now: after(7_500)))
        #expect(tracker.looks(after(8_000)) == [main])
        for second in 0..<100 where tracker.looks(after(9_000 + Int64(second) * 1_000)) == [main] {
            tracker.lookFailed(main)
        }
        #expect(!tracker.wantsLooks(now: after(200_000)), "not for ever")
    }

    /// The run was silent for five minutes when it was stopped; the event of its stop has no time.
    @Test func `the time of a stop is not that of the last event`() {
        var tracker = half(GatewayProfile(.june))
        stop(&tracker, at: 300_000)
        let next = AgentFrame.start("s", now.milliseconds + 300_500)
        _ = tracker.receive(event: "agent", payload: next, now: after(300_500))
        tracker.relink(process: .other, now: after(302_000))
        let changes = goOn(&tracker, takenUp("story", at: 308_000), at: 308_000)
        let isTied = changes.contains { if case .reassigned(from: "k", to: "g", _) = $0 { true } else { false } }
        #expect(isTied, "\(changes)")
    }

    @Test func `a stopped run says whether the gateway may bring its message back`() {
        /// With the run's first frames.
        func stopped(_ profile: GatewayProfile, frames: Int) -> Run? {
            var tracker = RunTracker()
            tracker.profile = profile
            tracker.sent("k", session: main, text: "story", now: now)
            for frame in [AgentFrame.start("k", now.milliseconds), AgentFrame.text("k", 2, "Half of")].prefix(frames) {
                _ = tracker.receive(event: "agent", payload: frame, now: now)
            }
            stop(&tracker)
            // March may say the end of another run.
            _ = tracker.tick(now: after(20_000))
            return tracker.run("k")
        }
        for profile in [march, april, GatewayProfile(.june)] {
            #expect(stopped(profile, frames: 2)?.mayReturn == true, "the next answer reads its row")
            #expect(stopped(profile, frames: 1)?.mayReturn == true, "begun, and no model asked")
            #expect(stopped(profile, frames: 0)?.mayReturn == true)
        }
    }

    @Test func `a run of an earlier process of Ladle goes by the release that has it`() {
        var tracker = RunTracker()
        tracker.followRun("k", session: main, startedAt: now, message: "story", text: "Half of", now: now)
        tracker.profile = march
        tracker.relink(process: .same, now: after(1_000))
        stop(&tracker)
        _ = tracker.tick(now: after(20_000))
        #expect(tracker.run("k")?.state == .aborted && tracker.run("k")?.mayReturn == true)
    }

    // MARK: Times of resumed runs

    /// All other times of a run are the gateway's.
    @Test func `a run that a page shows first begins by the gateway's clock`() {
        var tracker = RunTracker()
        tracker.clockSkewMs = 10_000
        tracker.sent("other", session: main, text: "hi", now: now)
        let page = json(#"{"messages":[],"inFlightRun":{"runId":"k","text":"Half of"}}"#)
        _ = tracker.receive(history: page, session: main, now: after(2_000))
        #expect(tracker.run("k")?.startedAt == after(12_000))
    }

    private func resumed() -> RunTracker {
        var tracker = RunTracker()
        tracker.followRun("k", session: main, startedAt: now, message: "story", text: "Half of", now: after(540_000))
        tracker.relink(process: .same, now: after(541_000))
        return tracker
    }

    @Test func `a resumed run that is stopped now does not end at its start`() {
        var tracker = resumed()
        let aborted = json(
            #"{"runId":"k","sessionKey":"agent:main:main","seq":3,"state":"aborted","stopReason":"rpc"}"#
        )
        let run = ends(tracker.receive(event: "chat", payload: aborted, now: after(600_000))).first
        #expect(run?.endedAt.map { $0 > after(500_000) } == true, "\(run?.endedAt?.rfc3339 ?? "") start \(now.rfc3339)")
    }

    @Test func `a resumed run whose end the session reports does not end at its start`() {
        var tracker = resumed()
        let end = changed(#""phase":"end","runId":"k""#)
        _ = tracker.receive(event: "sessions.changed", payload: end, now: after(600_000))
        // The end waits for a page.
        let run = ends(tracker.tick(now: after(604_000)) + tracker.tick(now: after(640_000))).first
        #expect(run?.endedAt.map { $0 > after(500_000) } == true, "\(run?.endedAt?.rfc3339 ?? "none")")
    }

    /// 2026.6.11, seen live: Ladle was started again minutes after the answer.
    @Test func `a resumed run that ended while Ladle was away ended at its answer's time`() {
        var tracker = resumed()
        _ = tracker.receive(
            history: page([user("story", at: 0), answer("Whole.", at: 3_000)]),
            session: main,
            now: after(541_100)
        )
        #expect(tracker.run("k")?.state == .completed)
        #expect(tracker.run("k")?.endedAt == after(3_000))
    }

    // MARK: Work

    private func past(_ number: Int, text: String = "") -> KnownRun {
        let run = Run(
            id: "p\(number)",
            session: SessionKey(canonical: "agent:main:s\(number)"),
            state: .aborted,
            startedAt: now,
            endedAt: after(3_000),
            text: text,
            end: .aborted
        )
        return KnownRun(run, message: KnownRun.Message("go on", sentAt: now), stoppedAt: after(3_000))
    }

    /// Runs that were stopped up to a day ago take all places of sessions that are caught up after a start.
    @Test func `remembered runs are no recent runs`() {
        var tracker = RunTracker()
        for number in 0..<40 { _ = tracker.follow(past(number), now: after(80_000_000)) }
        #expect(tracker.recentSessions(16) == [tracker.defaults.mainSession])
    }

    /// Each was stopped hours before the gateway was restarted, so no stop was lost.
    @Test func `old stops cause no pages after a restart`() {
        var tracker = RunTracker()
        for number in 0..<1_000 {
            let session = "agent:main:s\(number)"
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("r\(number)", session: session), now: now)
            let aborted = json(#"{"runId":"r\#(number)","sessionKey":"\#(session)","seq":3,"state":"aborted"}"#)
            _ = tracker.receive(event: "chat", payload: aborted, now: after(3_000))
        }
        tracker.relink(process: .same, now: after(3_000_000))
        tracker.relink(process: .other, now: after(36_000_000))
        let due = tracker.takeLooks(now: after(36_000_000), room: 5_000, except: [])
        #expect(due.count == 0)
    }

    // MARK: Notes

    /// A note stands behind a prompt whose answer is not complete.
    @Test func `a note is no answer of the prompt before it`() {
        var tracker = half(GatewayProfile(.june))
        tracker.relink(process: .other, now: after(6_000))
        let note = """
            {"role":"assistant","content":[{"type":"text","text":"note"}],"stopReason":"stop","model":"gateway-injected",\
            "timestamp":\(now.milliseconds + 15_000)}
            """
        let rows = [user("story", at: 0, key: "k"), takenUp("story", at: 12_000), note]
        let changes = tracker.receive(history: page(rows), session: main, now: after(20_000))
        let replaced = changes.contains { if case .textReplaced = $0 { true } else { false } }
        #expect(!replaced, "\(changes)")
        #expect(tracker.run("k")?.text == "Half of")
    }

    /// OpenClaw answers `! ls` itself, as it does `/status`.
    @Test func `the answer to a bash command is its run's`() {
        let rows = """
            {"role":"user","content":"! ls","timestamp":\(now.milliseconds),"__openclaw":{"id":"u"},"idempotencyKey":"k:user"},\
            {"role":"assistant","content":[{"type":"text","text":"a.txt"}],"stopReason":"stop","model":"gateway-injected",\
            "timestamp":\(now.milliseconds + 10),"__openclaw":{"id":"a"}}
            """
        let messages = MessagePage(
            history: json("{\"messages\":[\(rows)]}"),
            session: main,
            tracker: RunTracker(),
            now: after(1_000)
        ).messages
        #expect(messages.map(\.runID) == ["k", "k"])
    }

    // MARK: Remembered runs

    /// They weigh 2 MB each, and all runs together may weigh 64 MB.
    @Test func `remembered runs count as memory`() {
        var tracker = RunTracker()
        let text = String(repeating: "x", count: 1_000_000)
        for number in 0..<100 { _ = tracker.follow(past(number, text: text), now: after(80_000_000)) }
        tracker.relink(process: .other, now: after(80_001_000))
        #expect(tracker.takeLooks(now: after(80_001_000), room: 1_000, except: []).count <= 32)
    }
}
