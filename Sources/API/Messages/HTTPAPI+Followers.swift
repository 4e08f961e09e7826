package import EventLoops
import Outbox
import Runs
package import Service
import Store

/// A request that stays open for one entry.
protocol EntryFollower: AnyObject {
    var entryID: String { get }
    var tokenID: String? { get }
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop)
    func runEnded(_ id: String, on loop: isolated EventLoop)
    func shutDown(reason: String, on loop: isolated EventLoop)
}

/// Requests that stay open hear what becomes of their entries.
extension HTTPAPI {
    package func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
        switch event {
        case .published(let event):
            hub.deliver(event, on: loop)
            guard event.type == "run.ended", let run = event.run, !followers.isEmpty else { return }
            for follower in followers.values { follower.runEnded(run, on: loop) }
        case .entryChanged(let entry):
            log(entry)
            for follower in followers.values where follower.entryID == entry.id {
                follower.entryChanged(entry, on: loop)
            }
        default: break
        }
    }

    func tokenEnded(_ id: String, reason: String, on loop: isolated EventLoop) {
        for follower in followers.values where follower.tokenID == id {
            follower.shutDown(reason: reason, on: loop)
        }
    }

    /// A new entry, durable; its event has left.
    func accepted(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        services.events.notify(.entryAccepted(entry), on: loop)
    }

    func follow(_ follower: any EntryFollower) {
        followers[ObjectIdentifier(follower)] = follower
    }

    func unfollow(_ follower: any EntryFollower) {
        followers[ObjectIdentifier(follower)] = nil
    }

    func endFollowers(on loop: isolated EventLoop) {
        for follower in followers.values { follower.shutDown(reason: "shutting_down", on: loop) }
    }

    /// The run that answers an entry: its own key names it, unless the gateway answered under another id.
    func run(of entry: OutboxEntry) -> String {
        let id = entry.runID ?? entry.upstreamKey
        return runs.resolved(id)
    }

    /// A run that is no longer in memory, with its steps.
    func readRun(
        _ id: String,
        on loop: isolated EventLoop,
        then use: @escaping (StoredRun?, [[UInt8]]) -> Void
    ) {
        let bound = LoopBound(use, on: loop)
        feed.journal.read { tables in
            let table = tables.runs
            return (try table.run(id: id), try table.steps(run: id))
        } completion: { [weak loop] result in
            loop?.post { loop in
                let found = try? result.get()
                bound.value(on: loop)?(found?.0, found?.1 ?? [])
            }
        }
    }
}
