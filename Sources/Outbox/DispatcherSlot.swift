/// An entry in the dispatcher's care.
struct DispatcherSlot: Sendable {
    /// A change on its way to disk. Until it is there, other inputs about the entry wait in `deferred`.
    struct Pending: Sendable {
        var id: PersistID
        var change: OutboxChange
        var then: Continuation
        /// Monotonic time of the next attempt, when the change sets one.
        var dueAtMs: Int64?
    }

    enum Continuation: Sendable, Equatable {
        case nothing
        case dispatch(isRepeat: Bool)
        case answer(CommandToken)
    }

    enum Deferred: Sendable, Equatable {
        case outcome(AttemptID, AttemptOutcome)
        case taken(key: String)
        case proof(key: String, OutboxProof)
        case continued(key: String, as: String)
        case refusedByRun(key: String, OutboxFault, retryAfterMs: Int64)
        case routeChanged(detail: String)
        case linkOpened
        case cancel(force: Bool, expectedVersion: Int64?, CommandToken)
        case retry(expectedVersion: Int64?, CommandToken)
    }

    /// As it is on disk.
    var entry: OutboxEntry
    var pending: Pending?
    var deferred: [Deferred] = []
    /// The dispatch whose outcome is awaited.
    var attempt: AttemptID?
    /// Monotonic time of the next attempt; nil: as soon as its turn comes.
    var dueAtMs: Int64?
    /// Monotonic time of the first dispatch under the present key, where this process made it.
    var dispatchedAtMs: Int64?
    /// A sign of the dispatch that is out has come before its answer.
    var isTaken = false
    /// The gateway said that the key has run: the row should be there by now.
    var looksAtOnce = false
    /// The connection over which a dispatch that could not be written was not counted.
    var freeOver: Int64?
    /// A reconnect made the attempt due before its time.
    var wasBroughtForward = false
    var reconciliation = Reconciliation()
    /// Monotonic time of the next look into history.
    var lookAtMs: Int64?
    var scan: ScanID?
    var proofChecks = 0
    /// Delivered, and until then waiting for the run that really answers (protocol 3, busy session).
    var awaitsRunUntilMs: Int64?
    /// Its own run was seen to end, perhaps before the acknowledgement is on disk.
    var hasRunEnded = false
    /// How the session changed since the dispatch: an entry that had not arrived before has no target any more.
    var targetChange: String?

    init(entry: OutboxEntry) {
        self.entry = entry
        self.entry.text = nil
    }

    /// Monotonic time of the next attempt, as it will be once the disk has the change.
    var nextDueMs: Int64? { pending == nil ? dueAtMs : pending?.dueAtMs }

    /// As it will be once the disk has it. Decisions about order rest on this.
    var current: OutboxEntry { pending?.change.entry ?? entry }

    var queue: QueueKey { QueueKey(session: entry.session, isControl: entry.kind.usesControlQueue) }

    /// A wake of the dispatcher's timers still means something to it.
    var isAwaited: Bool { dueAtMs != nil || lookAtMs != nil || awaitsRunUntilMs != nil }
}

extension DispatcherSlot.Deferred {
    var token: CommandToken? {
        switch self {
        case .cancel(_, _, let token), .retry(_, let token): token
        default: nil
        }
    }
}
