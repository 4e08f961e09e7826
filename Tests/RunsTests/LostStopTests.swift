import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// A gateway that says it has stopped a run, and is killed before the stop is on its disk. 2026.6.11 was seen to go on with such a
/// run after its restart.
struct LostStopTests: EvidenceScene {
    /// An earlier process of Ladle saw the stop.
    private func remembered() -> RunTracker {
        var tracker = RunTracker()
        let run = Run(
            id: "k",
            session: main,
            state: .aborted,
            startedAt: now,
            endedAt: after(3_000),
            text: "Half of",
            end: .aborted
        )
        let message = KnownRun.Message("story", sentAt: now)
        #expect(tracker.follow(KnownRun(run, message: message, stoppedAt: after(3_000)), now: after(4_000)).isEmpty)
        return tracker
    }

    @Test(arguments: [false, true])
    func `a stopped run names the run in which the gateway goes on with it`(isRemembered: Bool) {
        var tracker = isRemembered ? remembered() : stopped()
        tracker.relink(process: .other, now: after(6_000))
        let changes = goOn(&tracker, takenUp("story", at: 12_000), at: 12_000)
        #expect(changes.contains(.reassigned(from: "k", to: "g")), "\(changes)")
        let run = corrected(changes)
        #expect(run?.id == "k" && run?.state == .aborted && run?.text == "Half of")
        #expect(run?.continuedAs == "g")
    }

    /// 2026.4.26 does not quote the message, so the page has to show what the prompt follows.
    @Test(arguments: [true, false])
    func `a prompt that names no message goes on with the turn before it`(isOwn: Bool) {
        var tracker = stopped(april)
        tracker.relink(process: .other, startedAt: after(5_000), now: after(6_000))
        let prompt = user(notice, at: 34_000)
        #expect(!goOn(&tracker, prompt, at: 34_000).contains { if case .reassigned = $0 { true } else { false } })
        #expect(tracker.looks(after(34_600)) == [main])
        let between = isOwn ? [] : [user("something else", at: 4_000)]
        let rows = [user("story", at: 0)] + between + [prompt]
        let changes = tracker.receive(history: page(rows), session: main, now: after(34_700))
        #expect(changes.contains(.reassigned(from: "k", to: "g")) == isOwn, "\(changes)")
    }

    @Test(arguments: [false, true])
    func `the whole answer that the gateway wrote unseen corrects the end`(isRemembered: Bool) {
        var tracker = isRemembered ? remembered() : stopped()
        tracker.relink(process: .other, startedAt: after(9_000), now: after(20_000))
        #expect(tracker.takeLooks(now: after(20_000), room: 5, except: []) == [main])
        let rows = [user("story", at: 0, key: "k"), takenUp("story", at: 12_000), answer("Whole.", at: 15_000)]
        let run = corrected(tracker.receive(history: page(rows), session: main, now: after(20_100)))
        #expect(run?.state == .completed && run?.text == "Whole.")
    }

    /// Another client's run, begun after the stop, may have the same words.
    @Test func `a prompt that may be that of a later run is not stopped without a person's word`() {
        var tracker = stopped()
        let start = AgentFrame.start("s", now.milliseconds + 3_100)
        _ = tracker.receive(event: "agent", payload: start, now: after(3_100))
        tracker.relink(process: .other, now: after(90_000))
        let changes = goOn(&tracker, takenUp("story", at: 96_000), at: 96_000)
        #expect(changes.contains(.reassigned(from: "k", to: "g", isShared: true)), "\(changes)")
    }

    /// The process lived on after the stop, so the stop is on its disk.
    @Test(arguments: [true, false])
    func `a process that began long after the stop goes on with another run`(isRemembered: Bool) {
        var tracker = isRemembered ? remembered() : stopped()
        tracker.relink(process: .other, now: after(200_000))
        #expect(tracker.takeLooks(now: after(200_000), room: 5, except: []).isEmpty)
        let changes = goOn(&tracker, takenUp("story", at: 206_000), at: 206_000)
        #expect(!changes.contains { if case .reassigned = $0 { true } else { false } }, "\(changes)")
    }

    /// 2026.6.11, seen live: the same words were sent again after the stop, and a restart cut that run off.
    @Test func `a prompt in place of a later message's row leaves the stopped run as it is`() {
        var tracker = remembered()
        tracker.relink(process: .other, startedAt: after(9_000), now: after(20_000))
        let rows = [
            user("story", at: 0, key: "k"), user("else", at: 4_000), answer("Other.", at: 5_000),
            takenUp("story", at: 12_000), answer("Whole.", at: 15_000),
        ]
        #expect(corrected(tracker.receive(history: page(rows), session: main, now: after(20_100))) == nil)
        #expect(tracker.run("k")?.state != .completed)
    }

    @Test func `a stopped run of the same process is over`() {
        var tracker = stopped()
        tracker.relink(process: .same, now: after(6_000))
        #expect(tracker.takeLooks(now: after(6_000), room: 5, except: []).isEmpty)
        let changes = goOn(&tracker, takenUp("story", at: 12_000), at: 12_000)
        #expect(corrected(changes) == nil)
    }

    /// Ladle was killed after it had reached the new process, and before that one went on with the run.
    @Test func `a stopped run is remembered over two kills of Ladle`() {
        var tracker = remembered()
        tracker.relink(process: .same, startedAt: after(5_000), now: after(9_000))
        let changes = goOn(&tracker, takenUp("story", at: 12_000), at: 12_000)
        #expect(changes.contains(.reassigned(from: "k", to: "g")), "\(changes)")
    }

    @Test func `a stopped run is not continued an hour after its process was found gone`() {
        var tracker = stopped()
        tracker.relink(process: .other, now: after(6_000))
        tracker.relink(process: .other, now: after(3_610_000))
        let changes = goOn(&tracker, takenUp("story", at: 3_620_000), at: 3_620_000)
        #expect(corrected(changes) == nil)
    }
}
