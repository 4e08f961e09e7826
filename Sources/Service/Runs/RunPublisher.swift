import Basics
import EventLoops
import Gateway
import JSONBytes
import Runs
import Store

/// Writes changes of runs as rows and events, in order. The run tracker decides which runs are active.
final class RunPublisher {
    private let feed: EventFeed
    /// Runs that have begun and not ended, in the order they began.
    private(set) var active: [Run] = []
    /// Runs whose end, and perhaps last text, has not reached the subscribers yet.
    private(set) var ending: [Run] = []
    /// The most such runs: one whose event was never stored is dropped by this limit.
    private static let mostEnding = 64
    /// Bytes of the text of each active run that its row has.
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
        guard !ending.isEmpty, event.type == "run.ended" else { return }
        ending.removeAll { $0.id == event.run }
    }

    /// Takes over a run of an earlier process, whose row and start event exist already.
    func resume(_ run: Run) {
        keep(run)
    }

    func publish(_ change: RunChange, of run: Run, on loop: isolated EventLoop) {
        keep(run)
        switch change {
        case .started(let run): publish("run.started", run, on: loop)
        case .ended(let run):
            active.removeAll { $0.id == run.id }
            keptBytes[run.id] = nil
            if ending.count == Self.mostEnding { ending.removeFirst() }
            ending.append(run)
            publish("run.ended", run, on: loop)
        case .stepChanged(let step): publish(step, of: run, on: loop)
        case .textAppended(_, let offset, let text): pass(text, at: offset, replaces: false, of: run, on: loop)
        case .textReplaced(_, let text): pass(text, at: 0, replaces: true, of: run, on: loop)
        case .corrected(let run): publish("run.corrected", run, on: loop)
        case .deferred, .reassigned, .proven, .dropped, .refused: break
        }
    }

    private func keep(_ run: Run) {
        if let place = active.firstIndex(where: { $0.id == run.id }) {
            active[place] = run
        } else if run.state.isActive {
            active.append(run)
        }
    }

    /// Writes the texts of active runs. No gateway repeats the text of a run that a restart of the gateway cut off, so it has to
    /// outlive a kill of Ladle at the same time.
    func keepTexts(on loop: isolated EventLoop) {
        guard loop.now &- keptAt >= Self.keepNanoseconds else { return }
        let rows = active.filter(isWorthKeeping).map { run in
            keptBytes[run.id] = run.text.utf8.count
            return Self.row(of: run)
        }
        guard !rows.isEmpty else { return }
        keptAt = loop.now
        // Not through the feed, where the pieces of text would wait for this write. If it fails, the next one has the whole text.
        feed.journal.commit(cost: rows.reduce(0) { $0 + $1.body.count }) { transaction in
            for row in rows { try transaction.runs.save(row) }
        } completion: { _, _ in
        }
    }

    private func isWorthKeeping(_ run: Run) -> Bool {
        let (count, kept) = (run.text.utf8.count, keptBytes[run.id] ?? 0)
        return count != kept && (count <= Self.shortText || abs(count - kept) >= kept / 8)
    }

    private static func row(of run: Run) -> StoredRun {
        var writer = JSONWriter(capacity: 512)
        run.write(to: &writer, includingSteps: false)
        return StoredRun(
            id: run.id,
            session: run.session.text,
            state: run.state.rawValue,
            startedAt: run.startedAt,
            endedAt: run.endedAt,
            body: writer.bytes
        )
    }

    private func publish(_ type: String, _ run: Run, on loop: isolated EventLoop) {
        let row = Self.row(of: run)
        feed.publish(type, session: run.session.text, run: run.id, on: loop) { object in
            object.member("run", raw: row.body)
        } also: { transaction in
            try transaction.runs.save(row)
        }
    }

    private func publish(_ step: Step, of run: Run, on loop: isolated EventLoop) {
        var writer = JSONWriter(capacity: 512)
        step.write(to: &writer)
        let body = writer.bytes
        let sequence = Int64(step.sequence)
        let id = run.id
        feed.publish("run.step", session: run.session.text, run: id, on: loop) { object in
            object.member("step", raw: body)
        } also: { transaction in
            try transaction.runs.saveStep(run: id, sequence: sequence, body: body)
        }
    }

    private func pass(_ text: String, at offset: Int, replaces: Bool, of run: Run, on loop: isolated EventLoop) {
        let delta = StreamEvent.Delta(
            run: run.id,
            session: run.session.text,
            offset: offset,
            text: text,
            replaces: replaces
        )
        feed.pass(StreamEvent(delta, at: loop.wallClock), on: loop)
    }
}
