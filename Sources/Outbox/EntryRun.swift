import Basics
import Ledger

/// An entry's message at the gateway, as far as this process saw it: its dispatch, and the progress of its run.
struct EntryRun: Sendable {
    /// Monotonic time of the first dispatch under the present key, if this process made it.
    private var dispatchedAtMs: Int64?
    /// The gateway's process at that dispatch.
    private var process: GatewayProcess?
    /// The connection over which the gateway got the message, or said that its run is in progress.
    private var heldOver: Int?
    /// The id under which its run began.
    private(set) var begun: String?
    /// The run was seen to end, perhaps before the acknowledgement is on disk.
    private var hasEnded = false
    /// The time until which a delivered entry waits for the run that really answers it (protocol 3, busy session).
    private(set) var awaitedUntilMs: Int64?

    init(_ entry: OutboxEntry) {
        if entry.hadBegun { begun = entry.runID }
    }

    mutating func dispatching(_ entry: OutboxEntry, _ context: DispatcherContext) {
        hasEnded = false
        if entry.firstDispatchAt == nil { got(context) }
    }

    /// The gateway got the message over this connection, as far as is known for the first time.
    private mutating func got(_ context: DispatcherContext) {
        (dispatchedAtMs, process, heldOver) = (context.now.monotonicMs, context.process, context.connection)
    }

    mutating func answered(_ entry: OutboxEntry, _ outcome: AttemptOutcome, _ context: DispatcherContext) {
        guard case .acknowledged(let answer) = outcome, answer.status == .inFlight,
            answer.runID == nil || answer.runID == entry.upstreamKey
        else { return }
        heldOver = context.connection
    }

    /// An event shows that the gateway has the message.
    mutating func taken(_ entry: OutboxEntry, _ context: DispatcherContext) {
        if entry.firstDispatchAt == nil { got(context) }
    }

    mutating func began(_ id: String) { begun = id }

    mutating func ended() { hasEnded = true }

    // MARK: The run of another message that answers this one

    mutating func await(entry id: String, _ context: inout DispatcherContext) {
        let until = context.now.monotonicMs + context.policy.runPatienceMs
        // The phase is reported repeatedly; the existing timer will find the later time.
        if awaitedUntilMs == nil { context.timers.wake(.entry(id), atMs: until) }
        awaitedUntilMs = until
    }

    mutating func answered() { awaitedUntilMs = nil }

    mutating func wake(entry id: String, _ context: inout DispatcherContext) {
        guard let until = awaitedUntilMs else { return }
        if until <= context.now.monotonicMs {
            awaitedUntilMs = nil
        } else {
            context.timers.wake(.entry(id), atMs: until)
        }
    }

    // MARK: The gateway

    /// Whether the gateway's present process is the one that got the message.
    func gatewayProcess(_ entry: OutboxEntry, _ context: DispatcherContext) -> Continuity {
        guard let now = context.process else { return .either }
        if heldOver == context.connection { return .same }
        if let process { return process.continuity(to: now) }
        // An earlier process of Ladle sent it, to the last one that it saw or to one before that.
        let known = [GatewayProcess(dispatchOf: entry), context.earlierProcess]
        return known.contains { $0?.continuity(to: now) == .other } ? .other : .either
    }

    /// The time since the first dispatch, as a range: the wall clock may have been set, and the monotonic clock stops while the machine
    /// sleeps. Nil if unknown.
    private func passedMs(_ entry: OutboxEntry, _ now: Moment) -> ClosedRange<Int64>? {
        guard let sent = entry.firstDispatchAt else { return nil }
        let byWall = now.wallMs - sent.milliseconds
        let byMonotonic = dispatchedAtMs.map { now.monotonicMs - $0 } ?? byWall
        guard max(byWall, byMonotonic) >= 0 else { return nil }
        return max(0, min(byWall, byMonotonic))...max(byWall, byMonotonic)
    }

    /// Whether the same key may be sent again: the gateway surely still remembers it, or the message is so old that a gateway which
    /// has it would show its row by now.
    func mayRepeat(_ entry: OutboxEntry, _ context: DispatcherContext) -> Bool {
        guard let passed = passedMs(entry, context.now) else { return false }
        // Our clocks may have been set or stopped; the gateway's uptime is unaffected.
        let age = context.process?.ageMs(atMonotonic: context.now.monotonicMs)
        let growth = age.flatMap { age in entry.dispatchUptimeMs.map { age - $0 } }
        if max(passed.upperBound, growth ?? 0) < context.policy.safeRepeatWindowMs { return true }
        return gatewayProcess(entry, context) == .either
            && min(passed.lowerBound, growth ?? .max) >= context.policy.rowPatienceMs
    }

    /// Records that the session has a run: the gateway has the message, and perhaps still works on it.
    /// - Parameter run: the id in the gateway's acknowledgement.
    func markBusy(_ entry: OutboxEntry, run: String? = nil, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasEnded, gatewayProcess(entry, context) != .other else { return }
        context.heard(run ?? entry.run, in: entry.session)
    }

    /// Records that the gateway's process that had the message is gone. The next process may go on with its run.
    func markInterrupted(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasEnded, gatewayProcess(entry, context) == .other else { return }
        context.interrupted(entry.run, in: entry.session)
    }

    /// After an acknowledgement the session has a run, even before the change is on disk.
    func markBusy(_ entry: OutboxEntry, after outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        guard case .acknowledged(let answer) = outcome, !answer.status.isOfEarlierRun else { return }
        if answer.isOfOtherRun(than: entry.upstreamKey), let run = answer.runID {
            return context.named(run, in: entry.session)
        }
        markBusy(entry, run: answer.runID, &context)
    }
}

extension GatewayProcess {
    /// The gateway's process at an entry's first dispatch, which an earlier process of Ladle made.
    init?(dispatchOf entry: OutboxEntry) {
        guard let sent = entry.firstDispatchAt, let skewMs = entry.dispatchSkewMs else { return nil }
        self.init(ageMs: entry.dispatchUptimeMs, gatewayTime: sent.adding(milliseconds: skewMs), monotonicMs: nil)
    }
}
