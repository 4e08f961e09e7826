import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Runs
import Store

/// Writes changes of runs as rows and events, in order.
final class RunPublisher {
    private let feed: EventFeed
    /// Runs whose end, and perhaps last text, has not reached the subscribers yet.
    private(set) var ending: [Run] = []
    /// The most such runs, should the disk stall.
    private static let mostEnding = 64
    /// Bytes of the text of each run in progress that its row has.
    private var keptBytes: [String: Int] = [:]
    private var keptAt: UInt64 = 0
    /// Texts are written this often at most, in one commit for all runs.
    private static let keepNanoseconds: UInt64 = 2_000_000_000
    /// A longer text is written after it has grown by an eighth, so that all its writes together are a few times its length.
    private static let shortText = 16_384

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Called when an event has reached the streams; a run's end is then over.
    func published(_ event: StreamEvent) {
        if event.type == "run.ended", let run = event.run { forget(run) }
    }

    private func forget(_ id: String) { ending.removeAll { $0.id == id } }

    func ended(_ run: Run, on loop: isolated EventLoop) {
        if ending.count == Self.mostEnding { ending.removeFirst() }
        ending.append(run)
        // The transcript never gets the partial text of an interrupted run. The completion also comes where the disk failed.
        publish("run.ended", run, awaitsAnswer: run.end != .interrupted, on: loop) { [weak self] in
            self?.forget(run.id)
        }
    }

    /// Writes the texts of runs in progress. No gateway repeats the text of a run that a restart of the gateway cut off, so it has to
    /// outlive a kill of Ladle at the same time.
    func keepTexts(of tracker: RunTracker, on loop: isolated EventLoop) {
        guard loop.now &- keptAt >= Self.keepNanoseconds else { return }
        let counts = Dictionary(tracker.shown.map { ($0, tracker.textBytes(ofRun: $0)) }) { $1 }
        let grown = counts.filter { isWorthKeeping($1, of: $0) }
        keptBytes = keptBytes.filter { counts[$0.key] != nil }
        guard !grown.isEmpty else { return }
        keptAt = loop.now
        keptBytes.merge(grown) { $1 }
        let rows = grown.keys.compactMap { tracker.run($0) }
        // Not through the feed, where the pieces of text would wait for this write. If it fails, the next one has the whole text.
        feed.journal.commit(cost: rows.reduce(0) { $0 + $1.text.utf8.count }, isUrgent: false) { transaction in
            for row in rows { try transaction.runs.save(row) }
        } completion: { _, _ in
        }
    }

    private func isWorthKeeping(_ count: Int, of run: String) -> Bool {
        let kept = keptBytes[run] ?? 0
        return count != kept && (count <= Self.shortText || abs(count - kept) >= kept / 8)
    }

    func publish(
        _ type: String,
        _ run: Run,
        awaitsAnswer: Bool = false,
        mark: RunTable.Mark? = nil,
        on loop: isolated EventLoop,
        completion: @escaping () -> Void = {}
    ) {
        feed.publish(type, of: run, session: run.session.text, run: run.id, on: loop) { object in
            object.key("run")
            run.write(to: &object, includingSteps: false)
        } also: { transaction in
            try transaction.runs.save(run)
            if let mark { try transaction.runs.mark(run.id, mark) }
            if awaitsAnswer { try transaction.runs.awaitsAnswer(run.id, since: transaction.now) }
        } completion: {
            completion()
        }
    }

    /// Writes what only Ladle's memory knows otherwise. If this write fails and Ladle restarts, the run that answers a message that was put
    /// aside is shown as another client's, and the second run of a message as its first.
    func mark(_ id: String, _ mark: RunTable.Mark) {
        feed.journal.commit(cost: 64, isUrgent: true) { transaction in
            try transaction.runs.mark(id, mark)
        } completion: { _, _ in
        }
    }

    /// Writes that a message waits. Without it, a Ladle that is killed may take another run with the message's words for the one that
    /// answers it.
    func keep(_ deferral: Deferral, of run: String) {
        feed.journal.commit(cost: 64, isUrgent: true) { transaction in
            try transaction.outbox.keep(deferral, ofRun: run)
        } completion: { _, _ in
        }
    }

    /// Writes a run in progress whose start is on the stream.
    func keep(_ run: Run) {
        feed.journal.commit(cost: run.text.utf8.count + 256, isUrgent: false) { transaction in
            try transaction.runs.save(run)
        } completion: { _, _ in
        }
    }

    func publish(_ step: Step, session: SessionKey, on loop: isolated EventLoop) {
        feed.publish("run.step", session: session.text, run: step.runID, on: loop) { object in
            object.member("step", step)
        } also: { transaction in
            try transaction.runs.save(step)
        }
    }

    func pass(
        _ text: String,
        at offset: Int,
        replaces: Bool,
        run: String,
        session: SessionKey,
        on loop: isolated EventLoop
    ) {
        let delta = StreamEvent.Delta(run: run, session: session.text, offset: offset, text: text, replaces: replaces)
        feed.pass(StreamEvent(delta, at: loop.wallClock), on: loop)
    }
}
