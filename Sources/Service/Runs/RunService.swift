package import Basics
package import EventLoops
package import Gateway
import JSONBytes
package import Labels
package import Outbox
package import Runs
import Store

/// Follows the runs of the gateway: its events and history go to the run tracker, changes go to rows and events, and the
/// outbox learns what proves its entries and which sessions are busy.
package final class RunService {
    /// Where a gateway gives no live tool events, history is asked this often while a run is active.
    private static let pollMilliseconds: Int64 = 500
    private static let tickMilliseconds: Int64 = 1000
    /// The newest rows: as many as one run can have written since the last look.
    private static let pollRows = 50
    /// Sessions whose history is on its way at a time, so that other questions find room.
    private static let mostPolls = 16
    /// At a start, runs are looked for that began this long ago, among the newest delivered messages.
    private static let recoveryMilliseconds: Int64 = 600_000
    private static let recoveryEntries = 100

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let transcript: TranscriptReader
    private let outbox: OutboxService
    private let publisher: RunPublisher
    private var tracker: RunTracker
    private var polling: Set<SessionKey> = []
    private var lastPolled: SessionKey?
    private var ticker: TimerID?
    private var isOnline = false
    private var orphans = OrphanedRuns()
    /// Why the runs of the earlier process could not be read; the link stays closed until they are.
    package private(set) var fault: String?

    package init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        transcript: TranscriptReader,
        outbox: OutboxService,
        labels: LabelTable,
        defaults: SessionDefaults
    ) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.transcript = transcript
        self.outbox = outbox
        publisher = RunPublisher(feed: feed)
        tracker = RunTracker(labels: labels, defaults: defaults)
    }

    // MARK: Reading

    /// The meaning of `main` and of bare session keys.
    package var defaults: SessionDefaults { tracker.defaults }
    /// The canonical form of a session's name; nil if it names none.
    package func session(named text: String) -> String? { (try? defaults.canonical(text))?.text }
    package func resolved(_ run: String) -> String { tracker.resolved(run) }
    package func run(_ id: String) -> Run? { tracker.run(id) }
    /// Runs that have begun and not ended, in the order in which they began.
    package var active: [Run] { publisher.active }
    /// Runs whose end is on its way to the streams.
    package var ending: [Run] { publisher.ending }
    /// Also counts messages that wait for their turn at the gateway.
    package var activeCount: Int { tracker.activeCount }

    /// Newest first.
    package func runs(activeOnly: Bool = false, session: String? = nil) -> [Run] {
        tracker.runs(activeOnly: activeOnly, session: session.map { SessionKey(canonical: $0) })
    }

    /// Reads the tracker as it stands.
    package func reading<Value>(_ body: (RunTracker) -> Value) -> Value { body(tracker) }

    /// A run of Ladle's own housekeeping: never shown.
    package func hide(_ id: String) { tracker.hide(id) }
    package func isHidden(_ id: String) -> Bool { tracker.isHidden(id) }
    /// The canonical form of a key in a frame, whatever its spelling.
    package func canonical(_ key: String) -> SessionKey { tracker.defaults.tolerant(key) }

    // MARK: Events

    package func dispatched(_ entry: OutboxEntry, key: String, on loop: isolated EventLoop) {
        let session = tracker.defaults.tolerant(entry.session)
        tracker.sent(key, session: session, text: entry.text ?? "", now: loop.wallClock)
    }

    package func refused(key: String) { tracker.sendFailed(key) }

    package func linkLost() {
        guard isOnline else { return }
        isOnline = false
        tracker.linkLost()
    }

    package func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        isOnline = true
        let defaults = SessionDefaults(
            agent: hello.defaultAgentId ?? "main",
            mainKey: hello.mainKey ?? "main",
            mainSession: hello.mainSessionKey
        )
        if defaults != tracker.defaults {
            defaults.keep(in: feed.journal, now: loop.wallClock)
            tracker.defaults = defaults
            events.notify(.defaultsChanged(defaults), on: loop)
        }
        tracker.gatewaySendsRows = hello.methods.contains("sessions.subscribe")
        reportBusyRuns(hello, on: loop)
    }

    /// After the outbox has heard of the link.
    package func resumeWatching(on loop: isolated EventLoop) {
        orphans.online(now: loop.wallClock)
        poll(on: loop)
        keepTicking(on: loop)
    }

    package func framesLost(on loop: isolated EventLoop) {
        tracker.framesLost()
        poll(on: loop)
    }

    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        prove(event.payload, on: loop)
        publish(tracker.receive(event.payload, now: loop.wallClock), on: loop)
        if tracker.takePageRequest() { poll(on: loop) }
        keepTicking(on: loop)
    }

    package func published(_ event: StreamEvent) { publisher.published(event) }

    /// The outbox has to wait for runs that go on, also for the ones that began before this connection. The runs of
    /// another process of the gateway ended with that process.
    private func reportBusyRuns(_ hello: Hello, on loop: isolated EventLoop) {
        let now = loop.wallClock.adding(milliseconds: gateway.clockSkewMs).milliseconds
        let start = hello.uptimeMs.map { now &- $0 &- GatewayEvents.slackMilliseconds } ?? .min
        for run in tracker.busyRuns where run.since.milliseconds >= start { report(run, on: loop) }
    }

    private func report(_ run: RunTracker.BusyRun, on loop: isolated EventLoop) {
        outbox.run(run.id, in: run.session.text, run.isDeferred ? .deferred : .active, on: loop)
    }

    /// Any event of a run whose id is one of our keys shows that the gateway took the message.
    private func prove(_ event: GatewayEventPayload, on loop: isolated EventLoop) {
        switch event {
        case .agent(let event), .sessionTool(let event): prove(run: event.runId, on: loop)
        case .chat(let event): prove(run: event.runId, on: loop)
        case .sessionMessage(let event):
            if let key = event.idempotencyKey { outbox.saw(key: key, .messageEvent, on: loop) }
        default: return
        }
    }

    private func prove(run: String?, on loop: isolated EventLoop) {
        guard let run else { return }
        orphans.heard(run)
        guard UUIDv7.isWellFormed(String(run.prefix(36))) else { return }
        outbox.taken(key: run, on: loop)
    }

    private func publish(_ changes: [RunChange], on loop: isolated EventLoop) {
        for change in changes {
            switch change {
            case .started(let run):
                publisher.publish(change, of: run, on: loop)
                outbox.run(run.id, in: run.session.text, .active, on: loop)
            case .ended(let run):
                KillPoint.reach("run.ended")
                publisher.publish(change, of: run, on: loop)
                outbox.saw(key: run.id, .runEnd, on: loop)
                outbox.run(run.id, in: run.session.text, .ended, on: loop)
                events.notify(.runEnded(run), on: loop)
            case .stepChanged(let step):
                if let run = tracker.run(step.runID) { publisher.publish(change, of: run, on: loop) }
            case .textAppended(let id, _, _), .textReplaced(let id, _):
                if let run = tracker.run(id) { publisher.publish(change, of: run, on: loop) }
            case .deferred(let id, let session): outbox.run(id, in: session.text, .deferred, on: loop)
            case .reassigned(let id, let answer):
                guard let run = tracker.run(answer) else { continue }
                outbox.run(id, in: run.session.text, .continued(as: answer), on: loop)
            }
        }
    }

    // MARK: Looking into history

    private func keepTicking(on loop: isolated EventLoop) {
        guard ticker == nil, tracker.activeCount > 0 else { return }
        let wait = tracker.sessionsToPoll.isEmpty ? Self.tickMilliseconds : Self.pollMilliseconds
        ticker = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.ticker = nil
            self.publish(self.tracker.tick(now: loop.wallClock), on: loop)
            // While the gateway is away nothing is known of its runs; the next connection reports those still under way.
            for run in self.tracker.takeChangedBusyRuns() where self.isOnline { self.report(run, on: loop) }
            for id in self.orphans.due(now: loop.wallClock) {
                self.publish(self.tracker.giveUp(id, now: loop.wallClock), on: loop)
            }
            self.poll(on: loop)
            self.keepTicking(on: loop)
        }
    }

    private func poll(on loop: isolated EventLoop) {
        guard gateway.isOnline else { return }
        let wanted = tracker.sessionsToPoll
        let turn = lastPolled.flatMap { last in wanted.firstIndex { $0 > last } } ?? 0
        for session in wanted[turn...] + wanted[..<turn] where polling.count < Self.mostPolls {
            guard polling.insert(session).inserted else { continue }
            lastPolled = session
            transcript.read(session.text, rows: Self.pollRows, on: loop) { [weak self] result in
                guard let self else { return }
                self.polling.remove(session)
                guard case .success(let page) = result else { return }
                self.publish(self.tracker.receive(page, session: session, now: loop.wallClock), on: loop)
            }
        }
    }

    // MARK: Runs of an earlier process

    private struct Saved: Sendable {
        /// Runs without an end, with the numbers of their steps.
        var runs: [(run: StoredRun, steps: [String: Int])]
        /// Messages with the gateway whose run nobody saw.
        var entries: [OutboxEntry]
    }

    /// Takes up runs that an earlier process left without an end, and runs that began unseen.
    /// - Parameter completion: called once the runs are read, when the link may open. Earlier, an event of a run that goes
    ///   on would make it a new run.
    package func load(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        let since = loop.wallClock.adding(milliseconds: -Self.recoveryMilliseconds)
        feed.readSaved("runs", on: loop) { tables in
            let runs = try tables.runs.active().map { ($0, Self.numbers(of: try tables.runs.steps(run: $0.id))) }
            var recent = OutboxTable.Query()
            recent.states = [.accepted, .delivered]
            recent.limit = Self.recoveryEntries
            let entries = try tables.outbox.list(recent).filter { entry in
                try entry.updatedAt >= since && Self.lacksRun(entry, tables)
            }
            return Saved(runs: runs, entries: entries)
        } failed: { [weak self] fault in
            self?.fault = fault
        } completion: { [weak self] saved in
            guard let self else { return }
            self.fault = nil
            self.resume(saved.runs, on: loop)
            for entry in saved.entries { self.recover(entry, on: loop) }
            completion()
        }
    }

    private static func lacksRun(_ entry: OutboxEntry, _ tables: StoreTables) throws -> Bool {
        guard entry.kind == .message else { return false }
        return try tables.runs.run(id: entry.runID ?? entry.upstreamKey) == nil
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

    private func resume(_ runs: [(run: StoredRun, steps: [String: Int])], on loop: isolated EventLoop) {
        for (stored, steps) in runs where tracker.run(stored.id) == nil {
            let session = tracker.defaults.tolerant(stored.session)
            tracker.resume(stored.id, session: session, startedAt: stored.startedAt, steps: steps)
            guard let run = tracker.run(stored.id) else { continue }
            publisher.resume(run)
            orphans.add(stored.id)
        }
        lookForOrphans(on: loop)
    }

    /// A message turned out to be delivered. Where its run was never seen, history has to show it.
    package func delivered(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard entry.kind == .message, entry.state == .delivered else { return }
        guard isUnknown(entry) else { return }
        feed.read(on: loop) { tables in
            try Self.lacksRun(entry, tables)
        } completion: { [weak self] result in
            // A disk that cannot be read shows no run either: history decides.
            if (try? result.get()) ?? true { self?.recover(entry, on: loop) }
        }
    }

    /// Also true of a message that we sent and never heard of while the transcript has it: its run may have come and gone
    /// while the link was down.
    private func isUnknown(_ entry: OutboxEntry) -> Bool {
        let id = entry.runID ?? entry.upstreamKey
        guard !tracker.isHidden(id) else { return false }
        guard let run = tracker.run(id) else { return true }
        return run.state == .queued && [.history, .textMatch, .gatewayReceipt].contains(entry.proof)
    }

    private func recover(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard isUnknown(entry) else { return }
        let id = entry.runID ?? entry.upstreamKey
        let session = tracker.defaults.tolerant(entry.session)
        tracker.recover(id, session: session, text: entry.text ?? "", sentAt: entry.createdAt)
        orphans.add(id)
        lookForOrphans(on: loop)
    }

    private func lookForOrphans(on loop: isolated EventLoop) {
        guard isOnline, !orphans.isEmpty else { return }
        orphans.online(now: loop.wallClock)
        poll(on: loop)
        keepTicking(on: loop)
    }
}
