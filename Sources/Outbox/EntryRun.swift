/// An entry's message at the gateway, as far as this process saw it: its dispatch, and the progress of its run.
struct EntryRun: Sendable {
    /// Monotonic time of the first dispatch under the present key, if this process made it.
    private var dispatchedAtMs: Int64?
    /// The gateway showed that it has the message before its answer to the dispatch came.
    private(set) var isTaken = false
    /// The run has begun, so the gateway refuses the message no more.
    private var hasBegun = false
    /// The run was seen to end, perhaps before the acknowledgement is on disk.
    private var hasEnded = false
    /// The time until which a delivered entry waits for the run that really answers it (protocol 3, busy session).
    private(set) var awaitedUntilMs: Int64?

    mutating func dispatching(_ entry: OutboxEntry, _ now: Moment) {
        (isTaken, hasBegun, hasEnded) = (false, false, false)
        if entry.firstDispatchAt == nil { dispatchedAtMs = now.monotonicMs }
    }

    mutating func taken() { isTaken = true }

    /// False if the begin is known already.
    mutating func began() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

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

    private func firstDispatch(of entry: OutboxEntry) -> FirstDispatch? {
        FirstDispatch(of: entry, monotonicMs: dispatchedAtMs)
    }

    /// Whether the gateway still has the process that got the message.
    func gatewayProcess(_ entry: OutboxEntry, _ context: DispatcherContext) -> GatewayContinuity {
        firstDispatch(of: entry).map { context.gatewayAge.process(since: $0, at: context.now) } ?? .unknown
    }

    /// The facts that decide how doubt about the message is settled.
    func situation(of entry: OutboxEntry, mayGoOut: Bool, _ context: DispatcherContext) -> Reconciliation.Situation {
        let dispatch = firstDispatch(of: entry)
        let passed = dispatch?.passedMs(context.now)
        let growth = dispatch.flatMap { context.gatewayAge.growthMs(since: $0, at: context.now) }
        return Reconciliation.Situation(
            mayOnlyBeProven: entry.isSlashCommand || context.policy.ambiguous == .hold,
            process: gatewayProcess(entry, context),
            // Our clocks may have been set or stopped; the gateway's uptime is unaffected.
            leastSinceDispatchMs: passed.map { min($0.lowerBound, growth ?? .max) },
            mostSinceDispatchMs: passed.map { max($0.upperBound, growth ?? 0) },
            // After a reset, a gateway that lacks the message would put it into the new session.
            mayGoOut: entry.attemptCount < context.policy.maxAttempts && mayGoOut && entry.expiresAt > context.wall,
            isBusy: context.isBusy(entry.session)
        )
    }

    /// Records that the session has a run: the gateway has the message, and perhaps still works on it.
    /// - Parameter run: the id in the gateway's acknowledgement.
    func markBusy(_ entry: OutboxEntry, run: String? = nil, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasEnded, gatewayProcess(entry, context) != .other else { return }
        context.heard(run ?? entry.runID ?? entry.upstreamKey, in: entry.session)
    }

    /// Records that the gateway's process that had the message is gone. The next process may go on with its run.
    func markInterrupted(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        guard entry.kind.startsRun, !hasEnded, gatewayProcess(entry, context) == .other else { return }
        context.interrupted(entry.runID ?? entry.upstreamKey, in: entry.session)
    }

    /// After an acknowledgement the session has a run, even before the change is on disk.
    func markBusy(_ entry: OutboxEntry, after outcome: AttemptOutcome, _ context: inout DispatcherContext) {
        guard case .acknowledged(let answer) = outcome, !answer.status.isOfEarlierRun else { return }
        markBusy(entry, run: answer.runID, &context)
    }

    /// The time until which a gateway at rest may refuse this message, although it acknowledged it. A later message of
    /// the session would run before it. Nil if the gateway cannot refuse it any more.
    func lateRefusalMs(_ entry: OutboxEntry, _ context: DispatcherContext) -> Int64? {
        guard context.link.facts?.refusesLate == true, !hasBegun, let sent = dispatchedAtMs,
            !context.isBusy(entry.session, besides: entry.runID ?? entry.upstreamKey)
        else {
            return nil
        }
        let until = sent + context.policy.lateRefusalMs
        return context.now.monotonicMs < until ? until : nil
    }
}
