import Access
import EventLoops
import HTTPModel
import Outbox
import Runs
import Server
import Service
import Store

/// A run as it was found: in memory, in the database, or as a message that has none yet.
enum FoundRun {
    case live(Run)
    case stored(StoredRun, [[UInt8]])
    case waiting(OutboxEntry)
}

extension HTTPAPI {
    /// The run that the path names by its own id, or by the id or key of the message it answers. Where there is none,
    /// or the caller may not see it, the request is answered.
    func findRun(_ call: Call, on loop: isolated EventLoop, then use: @escaping (FoundRun) -> Void) {
        let id = call.parameters.first ?? ""
        if let run = runs.run(id) { return pass(.live(run), run.session.text, call, on: loop, use) }
        let bound = LoopBound((self, call, use), on: loop)
        feed.journal.read { tables in
            if let row = try tables.runs.run(id: id) {
                return (row, try tables.runs.steps(run: id), OutboxEntry?.none)
            }
            let entry = try tables.outbox.entry(id: OutboxEntry.entryID(ofKey: id))
            guard let run = entry?.runID, let row = try tables.runs.run(id: run) else { return (nil, [], entry) }
            return (row, try tables.runs.steps(run: run), entry)
        } completion: { [weak loop] (result: Result<(StoredRun?, [[UInt8]], OutboxEntry?), any Error>) in
            loop?.post { loop in
                guard let (api, call, use) = bound.value(on: loop) else { return }
                switch result {
                case .success((let row, let steps, let entry)):
                    if let run = (row?.id ?? entry?.runID).flatMap({ api.runs.run($0) }) {
                        api.pass(.live(run), run.session.text, call, on: loop, use)
                    } else if let row {
                        api.pass(.stored(row, steps), row.session, call, on: loop, use)
                    } else if let entry {
                        api.pass(.waiting(entry), entry.session, call, on: loop, use)
                    } else {
                        call.fail(.noRun, on: loop)
                    }
                case .failure(let error): call.fail(.storage(error), on: loop)
                }
            }
        }
    }

    private func pass(
        _ found: FoundRun,
        _ session: String,
        _ call: Call,
        on loop: isolated EventLoop,
        _ use: (FoundRun) -> Void
    ) {
        guard call.caller.mayUse(session: session) else { return call.fail(Problem(.foreignSession), on: loop) }
        use(found)
    }
}
