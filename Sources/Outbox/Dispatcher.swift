import Basics

/// Decides what happens to every entry that is not final: a pure machine over inputs and clocks.
///
/// Two promises hold by construction. Nothing goes to the link before the disk has `sending`, because a dispatch is the
/// continuation of that very write. And nothing is shown before it is on disk, because events are written with the
/// change; here an entry with a write under way takes no second change, later inputs wait for the first.
package struct Dispatcher: Sendable {
    package let rules: OutboxRules

    var slots: [String: DispatcherSlot] = [:]
    var lanes: [LaneKey: LaneQueue] = [:]
    package private(set) var link = LinkCondition.connecting
    /// When the facts of the link came, to know the gateway's uptime later.
    var linkSinceMs: Int64 = 0

    /// Entries of session lanes between the decision to send and the outcome.
    var onWire: Set<String> = []
    var readyLanes = UniqueQueue<LaneKey>()
    /// Lanes that would send but for the cap.
    var lanesAtCap = UniqueQueue<LaneKey>()

    /// Runs under way per session, and when each was last heard of. A send that was put off is one until it is answered.
    var runs: [String: [String: Int64]] = [:]

    var writes: [PersistID: String] = [:]
    var stalledWrites: [PersistID] = []
    /// Until this monotonic time the disk is left in peace after a failure.
    var storageHoldUntilMs: Int64?
    var storageFailures = 0

    var scans: [ScanID: String] = [:]
    var wantedScans = UniqueQueue<String>()

    var wakes = DeadlineHeap<Wake>()
    /// By wall clock: `notBefore` and expiries mean what the calendar says.
    var calendar = DeadlineHeap<String>()
    var armedAtMs: Int64?

    var actions: [DispatcherAction] = []
    var now = Moment(wallMs: 0, monotonicMs: 0)
    private var lastNumber: Int64 = 0
    private var random: UInt64
    /// What came before it was known what an earlier process left; nil once that is known.
    private var early: StartupBuffer? = StartupBuffer()
    /// Why that is not known yet.
    private var unread: String?

    enum Wake: Sendable, Equatable {
        case entry(String)
        case lane(LaneKey)
        case storage
    }

    /// Looks into history at the same time, over all sessions.
    static let parallelScans = 4
    /// Waits after failed writes.
    static let storageWaitsMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 30_000]
    /// The wall clock is looked at again at least this often while something waits for it: it may have jumped.
    static let calendarLookMs: Int64 = 60_000

    /// `seed` feeds the jitter only.
    package init(policy: OutboxPolicy = OutboxPolicy(), seed: UInt64 = 0) {
        self.rules = OutboxRules(policy: policy)
        self.random = seed
    }

    package mutating func receive(_ input: DispatcherInput, now: Moment) -> [DispatcherAction] {
        self.now = now
        take(input)
        pump()
        rearm()
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    // MARK: What others may ask

    /// Why waiting entries do not move; the same for all of them, so it is not stored with each.
    package var blockedReason: String? {
        if let unread { return "what waits could not be read: \(unread)" }
        return switch link {
        case .blocked(let reason): reason
        case .offline(let detail): rules.policy.offline == .hold ? "gateway offline: \(detail)" : nil
        case .connecting: rules.policy.offline == .hold ? "connecting to the gateway" : nil
        case .online: nil
        }
    }

    /// Entries in care: everything not final.
    package var count: Int { slots.count }

    package func entry(id: String) -> OutboxEntry? { slots[id]?.entry }

    // MARK: Inputs

    private mutating func take(_ input: DispatcherInput) {
        guard let waiting = early else { return handle(input) }
        switch input {
        case .loaded where waiting.hasMissed:
            // Whatever was told until now is on disk, and read this time.
            refuseEarlyCommands()
            early = StartupBuffer()
            actions.append(.load)
        case .loaded:
            early = nil
            unread = nil
            handle(input)
            for input in waiting.inputs { handle(input) }
        case .loadFailed(let detail):
            unread = detail
            refuseEarlyCommands()
        case .cancel, .retry:
            if unread != nil || early?.keep(input) == false { refuse(input.token) }
        case .enqueued, .routeChanged:
            _ = early?.keep(input)
        case .evidence:
            // What may have arrived is looked up in history, once it is known.
            break
        case .link, .run, .persisted, .persistFailed, .outcome, .scanned, .tick:
            handle(input)
        }
    }

    private mutating func refuseEarlyCommands() {
        for token in early?.takeCommands() ?? [] { refuse(token) }
    }

    private mutating func refuse(_ token: CommandToken?) {
        guard let token else { return }
        actions.append(.answer(token, .failure(.storage(.unavailable(unread ?? "what waits is still being read")))))
    }

    private mutating func handle(_ input: DispatcherInput) {
        switch input {
        case .loaded(let entries): load(entries)
        case .loadFailed: break
        case .enqueued(let entry): admit(entry)
        case .link(let condition): linkChanged(to: condition)
        case .persisted(let id): written(id)
        case .persistFailed(let id, let failure): notWritten(id, failure)
        case .outcome(let attempt, let outcome): outcomeCame(attempt, outcome)
        case .run(let session, let run, let phase): runChanged(session: session, run: run, phase: phase)
        case .evidence(let key, let proof): apply(.proof(proof), to: OutboxEntry.entryID(ofKey: key))
        case .scanned(let id, let report): scanned(id, report)
        case .routeChanged(let session, let detail): routeChanged(session: session, detail: detail)
        case .cancel(let id, let force, let version, let token):
            command(.cancel(force: force, expectedVersion: version, token), id: id, token: token)
        case .retry(let id, let version, let token):
            command(.retry(expectedVersion: version, token), id: id, token: token)
        case .tick: armedAtMs = nil
        }
        takeDue()
    }

    private mutating func command(_ command: DispatcherSlot.Deferred, id: String, token: CommandToken) {
        guard slots[id] != nil else {
            actions.append(.answer(token, .failure(.notFound)))
            return
        }
        apply(command, to: id)
    }

    private mutating func load(_ entries: [OutboxEntry]) {
        for entry in entries where !entry.state.isFinal {
            admit(entry)
            if let change = rules.resumed(entry, now: wall) {
                write(change, for: entry.id)
            } else if let due = entry.nextAttemptAt?.milliseconds, entry.state == .retrying {
                let rest = rules.schedule.remaining(until: due, attempts: entry.attemptCount, wallMs: now.wallMs)
                wait(entry.id, until: now.monotonicMs + rest)
            }
        }
        if link.facts != nil { kickLanes() }
    }

    private mutating func routeChanged(session: String?, detail: String) {
        let affected = slots.values.filter { session == nil || $0.entry.session == session }
        for slot in affected.sorted(by: { $0.entry.ordinal < $1.entry.ordinal }) {
            apply(.routeChanged(detail: detail), to: slot.entry.id)
        }
    }

    mutating func linkIs(_ condition: LinkCondition) {
        link = condition
        linkSinceMs = now.monotonicMs
    }

    // MARK: Small things

    var wall: Timestamp { Timestamp(milliseconds: now.wallMs) }
    var policy: OutboxPolicy { rules.policy }

    mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    /// In -1...1 (SplitMix64).
    mutating func vary() -> Double {
        guard policy.jitter > 0 else { return 0 }
        random &+= 0x9e37_79b9_7f4a_7c15
        var mixed = random
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / Double(1 << 53) * 2 - 1
    }
}
