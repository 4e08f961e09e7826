import Basics
package import Store
package import EventLoops
package import JSONBytes
package import Observability

/// Brings events to the hub in one order: a durable event once its row is committed, and nothing that came after it
/// before it.
package final class EventPipeline {
    private struct Held {
        let afterOperation: UInt64
        let event: HubEvent
    }

    /// Deltas held while a commit is under way; a disk that stands still must not grow memory. Beyond this they are
    /// dropped: the next `run.step` or `run.ended` carries the whole text's state anyway.
    private static let heldBytesLimit = 4 << 20

    /// Operations under way, and about what they write: beyond this the gateway has to wait. Some seconds of a busy one.
    private static let mostUnderWay: UInt64 = 4096
    private static let mostBytesUnderWay = 8 << 20

    package let store: StateStore
    package let hub: EventHub
    private var submitted: UInt64 = 0
    private var completed: UInt64 = 0
    private var bytesUnderWay = 0
    private var isHolding = false
    /// Told `true` with each operation that is too much, and `false` once half of that is done.
    package var heldBack: ((Bool) -> Void)?
    private var held: [Held] = []
    /// Of `held`: those before it have been handed out.
    private var heldStart = 0
    private var heldBytes = 0
    package var log = Log.none
    private var isFailing = false
    package private(set) var failures: UInt64 = 0
    package private(set) var dropped: UInt64 = 0

    package init(store: StateStore, hub: EventHub) {
        self.store = store
        self.hub = hub
    }

    /// What the store has committed, in order; comes by `post` from its queue.
    package func published(_ events: [StoredEvent], on loop: isolated EventLoop) {
        for event in events { hub.deliver(HubEvent(event), on: loop) }
    }

    /// Runs an operation of the store whose events keep their place among those published here. `completion` comes on
    /// the loop, after the operation's own events.
    package func commit<Value: Sendable>(
        cost: Int = 1024,
        on loop: isolated EventLoop,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping (Result<Value, any Error>) -> Void
    ) {
        submitted += 1
        bytesUnderWay += cost
        if submitted - completed > Self.mostUnderWay || bytesUnderWay > Self.mostBytesUnderWay {
            isHolding = true
            heldBack?(true)
        }
        let done = LoopBound(completion, on: loop)
        let this = LoopBound(self, on: loop)
        store.submit(cost: cost, body) { [weak loop] result in
            loop?.post { loop in
                if let this = this.value(on: loop) {
                    this.operationEnded(cost: cost, on: loop)
                    if case .failure = result { this.noteFailure() } else if this.isFailing { this.noteRecovery() }
                }
                done.value(on: loop)?(result)
            }
        }
    }

    /// An operation may also fail by its own rules; the disk is to blame when the store says so.
    private func noteFailure() {
        guard !isFailing, let fault = store.statistics.failing else { return }
        isFailing = true
        log.error("store.failing", ["error": .string("\(fault)")])
    }

    private func noteRecovery() {
        isFailing = false
        log.notice("store.recovered")
    }

    /// Logs one event and forgets about it.
    package func publish(
        _ type: String,
        session: String? = nil,
        run: String? = nil,
        on loop: isolated EventLoop,
        _ write: (inout JSONWriter) -> Void,
        also: @escaping @Sendable (inout StoreTransaction) throws -> Void = { _ in }
    ) {
        var writer = JSONWriter(capacity: 512)
        let at = loop.wallClock
        writer.object { object in
            object.member("type", type)
            object.member("at", at)
            object.member("session", session)
            object.member("runId", run)
            write(&object)
        }
        let draft = EventDraft(type: type, at: at, session: session, run: run, body: writer.bytes)
        commit(cost: writer.bytes.count, on: loop) { transaction in
            try also(&transaction)
            return try transaction.append(draft)
        } completion: { [weak self] (result: Result<StoredEvent, any Error>) in
            if case .failure = result { self?.failures += 1 }
        }
    }

    /// An event that is not kept. It waits for the durable ones before it.
    package func pass(_ event: HubEvent, on loop: isolated EventLoop) {
        if completed == submitted { return hub.deliver(event, on: loop) }
        guard heldBytes + event.data.count <= Self.heldBytesLimit else {
            dropped += 1
            return
        }
        held.append(Held(afterOperation: submitted, event: event))
        heldBytes += event.data.count
    }

    /// The oldest piece of a run's text that has not been handed out yet.
    func firstHeld(of run: String) -> HubEvent.Delta? {
        held[heldStart...].lazy.compactMap(\.event.delta).first { $0.run == run }
    }

    private func operationEnded(cost: Int, on loop: isolated EventLoop) {
        completed += 1
        bytesUnderWay -= cost
        if isHolding, submitted - completed <= Self.mostUnderWay / 2, bytesUnderWay <= Self.mostBytesUnderWay / 2 {
            isHolding = false
            heldBack?(false)
        }
        while heldStart < held.count, held[heldStart].afterOperation <= completed {
            let event = held[heldStart].event
            heldStart += 1
            heldBytes -= event.data.count
            hub.deliver(event, on: loop)
        }
        // In one go now and then: a disk that stood still lets thousands go one by one.
        if heldStart * 2 >= held.count {
            held.removeFirst(heldStart)
            heldStart = 0
        }
    }
}
