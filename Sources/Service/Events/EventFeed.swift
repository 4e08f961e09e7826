package import Basics
package import EventLoops
package import EventStream
package import JSONBytes
package import Observability
package import Store

/// Puts events into one order and publishes them: a durable event once its row is committed, and no later event before
/// it.
package final class EventFeed {
    private struct Held {
        let afterOperation: UInt64
        let event: StreamEvent
    }

    /// The most bytes of text deltas held during a commit, so that a stalled disk does not fill memory. Further deltas
    /// are dropped: the next `run.step` or `run.ended` carries the text so far.
    private static let heldBytesLimit = 4 << 20

    /// The most operations in progress; above it the gateway is slowed down. A busy gateway needs some seconds to get
    /// there.
    private static let mostUnderWay: UInt64 = 4096
    private static let mostBytesUnderWay = 8 << 20

    package let journal: any Journal
    /// Turns events into notifications, in the events' own transactions; nil until its rules are read.
    weak var maker: NotificationMaker?
    private let events: ServiceEvents
    private let log: Log
    private var submitted: UInt64 = 0
    private var completed: UInt64 = 0
    private var bytesUnderWay = 0
    private var isBehind = false
    private var held: [Held] = []
    /// The first index of `held` that has not been published.
    private var heldStart = 0
    private var heldBytes = 0
    private var isFailing = false
    package private(set) var failures: UInt64 = 0
    package private(set) var dropped: UInt64 = 0

    package init(journal: any Journal, events: ServiceEvents, log: Log = .none) {
        self.journal = journal
        self.events = events
        self.log = log
    }

    /// Runs a journal operation whose events keep their place among the ones published here. `completion` comes on the
    /// loop, after the operation's own events.
    package func commit<Value: Sendable>(
        cost: Int = 1024,
        isUrgent: Bool = false,
        on loop: isolated EventLoop,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping (Result<Value, any Error>) -> Void
    ) {
        submitted += 1
        bytesUnderWay += cost
        if submitted - completed > Self.mostUnderWay || bytesUnderWay > Self.mostBytesUnderWay {
            isBehind = true
            events.notify(.diskFellBehind(true), on: loop)
        }
        let this = LoopBound((self, completion), on: loop)
        let ruleset = maker?.ruleset(on: loop)
        journal.commit(cost: cost, isUrgent: isUrgent) { transaction -> (Value, NotificationRuleset.Changes) in
            let first = transaction.appended.count
            let value = try body(&transaction)
            return (value, try ruleset?.note(transaction.appended[first...], in: &transaction) ?? .init())
        } completion: { [weak loop] result, logged in
            loop?.post { loop in
                guard let (feed, completion) = this.value(on: loop) else { return }
                for event in logged { feed.events.notify(.published(StreamEvent(event)), on: loop) }
                feed.operationEnded(cost: cost, on: loop)
                if case .failure = result { feed.noteFailure(on: loop) } else if feed.isFailing { feed.noteRecovery() }
                if case .success((_, let changes)) = result, !changes.isEmpty {
                    feed.maker?.take(changes, on: loop)
                }
                completion(result.map(\.0))
            }
        }
    }

    /// Reads durable state; `completion` comes on the loop.
    package func read<Value: Sendable>(
        on loop: isolated EventLoop,
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        completion: @escaping (Result<Value, any Error>) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        journal.read(body) { [weak loop] result in
            loop?.post { loop in completion.value(on: loop)?(result) }
        }
    }

    package func read<Value: Sendable>(
        on loop: isolated EventLoop,
        _ body: @escaping @Sendable (StoreTables) throws -> Value
    ) async throws -> Value {
        try await loop.wait { read(on: loop, body, completion: $0) }.get()
    }

    package func commit<Value: Sendable>(
        cost: Int = 1024,
        isUrgent: Bool = false,
        on loop: isolated EventLoop,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await loop.wait { commit(cost: cost, isUrgent: isUrgent, on: loop, body, completion: $0) }.get()
    }

    /// Checks whether a message could be stored durably now; nil if so.
    package func probe(on loop: isolated EventLoop, completion: @escaping (StoreError?) -> Void) {
        let completion = LoopBound(completion, on: loop)
        Task { [journal] in
            let fault = await journal.probe()
            loop.post { loop in completion.value(on: loop)?(fault) }
        }
    }

    /// The oldest event kept; nil if there is none.
    package var oldest: EventID? { journal.oldest }

    private static let readAgainMilliseconds: Int64 = 1000

    /// Reads what an earlier process saved under `name`. A failed read is logged, once for each reason, and repeated
    /// every second until it succeeds; `failed` gets each reason, `completion` the value.
    func readSaved<Value: Sendable>(
        _ name: String,
        on loop: isolated EventLoop,
        after lastFault: String? = nil,
        _ body: @escaping @Sendable (StoreTables) throws -> Value,
        failed: @escaping (String) -> Void,
        completion: @escaping (Value) -> Void
    ) {
        read(on: loop, body) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value):
                if lastFault != nil { self.log.notice("\(name).read") }
                completion(value)
            case .failure(let error):
                let fault = (error as? StoreError)?.detail ?? "\(error)"
                if fault != lastFault {
                    self.log.error("\(name).unread", ["error": .string("\(error)"), "hint": "ladle doctor"])
                }
                failed(fault)
                loop.after(milliseconds: Self.readAgainMilliseconds) { [weak self] in
                    self?.readSaved(name, on: loop, after: fault, body, failed: failed, completion: completion)
                }
            }
        }
    }

    /// Reports a failure of the disk. Operations also fail by their own rules, so the journal's own state decides.
    private func noteFailure(on loop: isolated EventLoop) {
        guard !isFailing, let fault = journal.statistics.failing else { return }
        isFailing = true
        log.error("store.failing", ["error": .string("\(fault)")])
        events.notify(.storeFailed(fault), on: loop)
    }

    private func noteRecovery() {
        isFailing = false
        log.notice("store.recovered")
    }

    /// Logs one event. `also` becomes durable with it, or neither does. `completion` comes after the event, and also if
    /// the disk failed.
    package func publish(
        _ type: String,
        of matter: (any EventMatter)? = nil,
        session: String? = nil,
        run: String? = nil,
        on loop: isolated EventLoop,
        _ write: (inout JSONWriter) -> Void,
        also: @escaping @Sendable (inout StoreTransaction) throws -> Void = { _ in },
        completion: @escaping () -> Void = {}
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
        let draft = EventDraft(type: type, at: at, session: session, run: run, matter: matter, body: writer.bytes)
        commit(cost: writer.bytes.count, on: loop) { transaction in
            try also(&transaction)
            return try transaction.append(draft)
        } completion: { [weak self] (result: Result<StoredEvent, any Error>) in
            if case .failure = result { self?.failures += 1 }
            completion()
        }
    }

    /// Publishes an event that is not stored, after the durable events before it.
    package func pass(_ event: StreamEvent, on loop: isolated EventLoop) {
        if completed == submitted { return events.notify(.published(event), on: loop) }
        guard heldBytes + event.data.count <= Self.heldBytesLimit else {
            dropped += 1
            return
        }
        held.append(Held(afterOperation: submitted, event: event))
        heldBytes += event.data.count
    }

    /// The oldest unpublished delta of a run's text.
    package func firstHeld(of run: String) -> StreamEvent.Delta? {
        held[heldStart...].lazy.compactMap(\.event.delta).first { $0.run == run }
    }

    private func operationEnded(cost: Int, on loop: isolated EventLoop) {
        completed += 1
        bytesUnderWay -= cost
        if isBehind, submitted - completed <= Self.mostUnderWay / 2, bytesUnderWay <= Self.mostBytesUnderWay / 2 {
            isBehind = false
            events.notify(.diskFellBehind(false), on: loop)
        }
        while heldStart < held.count, held[heldStart].afterOperation <= completed {
            let event = held[heldStart].event
            heldStart += 1
            heldBytes -= event.data.count
            events.notify(.published(event), on: loop)
        }
        // Removed in bulk: after a stalled disk recovers, thousands leave in a row.
        if heldStart * 2 >= held.count {
            held.removeFirst(heldStart)
            heldStart = 0
        }
    }
}
