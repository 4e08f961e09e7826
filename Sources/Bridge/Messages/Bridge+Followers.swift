import Activity
import Store
package import EventLoops
import Outbox

/// A request that stays open for one entry.
protocol EntryFollower: AnyObject {
    var entryID: String { get }
    var tokenID: String? { get }
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop)
    func runEnded(_ id: String, on loop: isolated EventLoop)
    func shutDown(reason: String, on loop: isolated EventLoop)
}

/// What the bridge as a whole knows about entries under way.
extension Bridge {
    /// The desks behind the operations; what they tell goes to those who wait.
    package func attach(_ outbox: OutboxService, _ desk: GatewayEvents, on loop: isolated EventLoop) {
        self.outbox = outbox
        self.desk = desk
        let messages = MessageService(link: link, pipeline: pipeline, desk: desk)
        self.messages = messages
        let sessions = SessionService(pipeline: pipeline, desk: desk, outbox: outbox, messages: messages)
        self.sessions = sessions
        outbox.changed = { [unowned self] entry in self.changed(entry, on: loop) }
        desk.runEnded = { [weak messages] run in messages?.runEnded(run, on: loop) }
        desk.missed = { [weak messages] since in messages?.reload(since: since, on: loop) }
        let next = desk.received
        desk.received = { [weak messages, weak sessions] event in
            messages?.received(event, on: loop)
            sessions?.received(event, on: loop)
            next?(event)
        }
        access.tokenEnded = { [unowned self] id, reason in
            for follower in self.followers.values where follower.tokenID == id {
                follower.shutDown(reason: reason, on: loop)
            }
        }
        _ = hub.observe { [unowned self] event in
            guard event.type == "run.ended", let run = event.run, !self.followers.isEmpty else { return }
            for follower in self.followers.values { follower.runEnded(run, on: loop) }
        }
    }

    /// A new entry, durable; its event has left.
    func accepted(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        outbox?.enqueued(entry, on: loop)
        messages?.entryChanged(entry, on: loop)
    }

    private func changed(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        log(entry)
        messages?.entryChanged(entry, on: loop)
        desk?.delivered(entry, on: loop)
        for follower in followers.values where follower.entryID == entry.id {
            follower.entryChanged(entry, on: loop)
        }
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
        return desk?.resolved(id) ?? id
    }

    /// A run that is no longer in memory, with its steps.
    func readRun(
        _ id: String,
        on loop: isolated EventLoop,
        then use: @escaping (StoredRun?, [[UInt8]]) -> Void
    ) {
        let bound = LoopBound(use, on: loop)
        pipeline.store.reader.read { connection in
            let table = RunTable(connection)
            return (try table.run(id: id), try table.steps(run: id))
        } completion: { [weak loop] result in
            loop?.post { loop in
                let found = try? result.get()
                bound.value(on: loop)?(found?.0, found?.1 ?? [])
            }
        }
    }
}
