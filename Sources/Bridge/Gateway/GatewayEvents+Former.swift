import Activity
import Basics
import Store
package import EventLoops
import JSONBytes
import Outbox

/// Runs of an earlier process: those it left without an end, and those that began when nobody looked.
extension GatewayEvents {
    /// So long after its delivery a message's run is looked for at a start, and among so many messages.
    private static let recoveryMilliseconds: Int64 = 600_000
    private static let recoveryEntries = 100

    /// - Parameter done: the link may open now. Earlier, an event of a run that goes on would make it a new one.
    package func load(on loop: isolated EventLoop, then done: @escaping () -> Void) {
        let bound = LoopBound(self, on: loop)
        let next = LoopBound(done, on: loop)
        let since = loop.wallClock.adding(milliseconds: -Self.recoveryMilliseconds)
        pipeline.store.reader.read { connection in
            let table = RunTable(connection)
            let runs = try table.active().map { ($0, Self.numbers(of: try table.steps(run: $0.id))) }
            var recent = OutboxTable.Query()
            recent.states = [.delivered]
            recent.limit = Self.recoveryEntries
            let entries = try OutboxTable(connection).list(recent).filter { entry in
                entry.updatedAt >= since && Self.lacksRun(entry, table)
            }
            return (runs, entries)
        } completion: { [weak loop] result in
            loop?.post { loop in
                if let this = bound.value(on: loop), let (runs, entries) = try? result.get() {
                    this.take(former: runs, on: loop)
                    for entry in entries { this.recover(entry, on: loop) }
                }
                next.value(on: loop)?()
            }
        }
    }

    private static func lacksRun(_ entry: OutboxEntry, _ table: RunTable) -> Bool {
        entry.kind == .message && (try? table.run(id: entry.runID ?? entry.upstreamKey)) == .some(nil)
    }

    private static func numbers(of steps: [[UInt8]]) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for body in steps {
            guard let step = try? JSONDocument(parsing: body).root, let id = step["id"]?.string,
                let number = step["seq"]?.int
            else { continue }
            numbers[id] = Int(number)
        }
        return numbers
    }

    private func take(former runs: [(StoredRun, [String: Int])], on loop: isolated EventLoop) {
        for (stored, steps) in runs where book.run(stored.id) == nil {
            let session = book.defaults.tolerant(stored.session)
            book.resume(stored.id, session: session, startedAt: stored.startedAt, steps: steps)
            guard let run = book.run(stored.id) else { continue }
            live.resume(run)
            former.add(stored.id)
        }
        look(on: loop)
    }

    /// A message turned out to be delivered. Where its run was never seen, history has to show it.
    func delivered(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard entry.kind == .message, entry.state == .delivered else { return }
        guard isUnknown(entry) else { return }
        let bound = LoopBound(self, on: loop)
        pipeline.store.reader.read { connection in
            Self.lacksRun(entry, RunTable(connection))
        } completion: { [weak loop] (result: Result<Bool, any Error>) in
            loop?.post { loop in
                guard let this = bound.value(on: loop), (try? result.get()) == true else { return }
                this.recover(entry, on: loop)
            }
        }
    }

    /// Also one that we sent and never heard of, while the transcript has its message: it may have come and gone while the
    /// link was down.
    private func isUnknown(_ entry: OutboxEntry) -> Bool {
        let id = entry.runID ?? entry.upstreamKey
        guard !book.isHidden(id) else { return false }
        guard let run = book.run(id) else { return true }
        return run.state == .queued && [.history, .textMatch, .gatewayReceipt].contains(entry.proof)
    }

    private func recover(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard isUnknown(entry) else { return }
        let id = entry.runID ?? entry.upstreamKey
        let session = book.defaults.tolerant(entry.session)
        book.recover(id, session: session, text: entry.text ?? "", sentAt: entry.createdAt)
        former.add(id)
        look(on: loop)
    }

    private func look(on loop: isolated EventLoop) {
        guard wasOnline, !former.isEmpty else { return }
        former.online(now: loop.wallClock)
        poll(on: loop)
        keepTicking(on: loop)
    }
}
