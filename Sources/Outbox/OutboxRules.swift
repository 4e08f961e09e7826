package import Basics
import Ledger

/// The life of an entry, as pure functions of the entry, the event and the clock.
package struct OutboxRules: Sendable {
    package var policy: OutboxPolicy

    package init(policy: OutboxPolicy) {
        self.policy = policy
    }

    var schedule: RetrySchedule { RetrySchedule(policy: policy) }

    /// The entry is about to be written to the link.
    package func dispatching(
        _ entry: OutboxEntry,
        now: Timestamp,
        uptimeMs: Int64? = nil,
        skewMs: Int64? = nil
    ) -> OutboxChange {
        OutboxChange(of: entry, now: now) { next in
            next.state = .sending
            next.attemptCount += 1
            next.nextAttemptAt = nil
            next.runID = entry.kind.startsRun ? entry.upstreamKey : nil
            next.isRepeatInDoubt = entry.firstDispatchAt != nil && !entry.kind.isIdempotent
            if entry.firstDispatchAt == nil {
                next.firstDispatchAt = now
                next.dispatchUptimeMs = uptimeMs
                next.dispatchSkewMs = skewMs
            }
        }
    }

    /// There was no link, and the policy counts such attempts.
    package func unreachable(
        _ entry: OutboxEntry,
        now: Timestamp,
        detail: String,
        vary: Double = 0
    ) -> OutboxChange {
        var counted = entry
        counted.attemptCount += 1
        return failed(
            counted,
            now: now,
            outcome: .notDispatched,
            fault: .unreachable(detail),
            vary: vary
        )
    }

    /// The link's report about the dispatch that made the entry `sending`.
    /// - Parameters:
    ///   - place: where the message is, by the table.
    ///   - isFree: the attempt is not counted if it could not be written.
    func settle(
        _ entry: OutboxEntry,
        _ outcome: AttemptOutcome,
        at place: Decision.Place,
        now: Timestamp,
        isFree: Bool = false,
        vary: Double = 0
    ) -> OutboxChange {
        var entry = entry
        if isFree, case .notDispatched = outcome { entry.attemptCount = max(0, entry.attemptCount - 1) }
        switch (place, outcome) {
        case (_, .acknowledged(let answer)):
            return acknowledged(entry, answer, now: now)
        case (.held, _), (.arrived, _):
            // An event of the run shows that the message arrived. That counts more than a missing answer or an error.
            return acknowledged(entry, .init(status: .started), now: now)
        case (.here, .rejected(let rejection)), (.over, .rejected(let rejection)):
            return rejected(entry, rejection, now: now, vary: vary)
        case (.here, .notDispatched(let detail)), (.over, .notDispatched(let detail)):
            var change = failed(entry, now: now, outcome: .notDispatched, fault: .unreachable(detail), vary: vary)
            change.entry.forgetDispatch()
            change.entry.runID = nil
            return change
        case (.here, .noAnswer(let detail)), (.over, .noAnswer(let detail)):
            return failed(entry, now: now, outcome: .ambiguous, fault: .noAnswer(detail), vary: vary)
        case (_, .noAnswer(let detail)):
            return unconfirmed(entry, now: now, fault: .noAnswer(detail), attempted: true)
        // The report concerns this repeat; whether the first dispatch arrived is still unknown.
        case (_, .notDispatched(let detail)):
            return unconfirmed(entry, now: now, fault: .unreachable(detail), attempted: true)
        case (_, .rejected(let rejection)):
            let fault = OutboxFault(code: rejection.code, detail: rejection.message)
            if rejection.reason == .paused { entry.attemptCount = max(0, entry.attemptCount - 1) }
            return unconfirmed(entry, now: now, fault: fault, attempted: rejection.reason != .paused)
        }
    }

    /// The change that makes the entry show where its message is by the table; nil if it does.
    func shown(
        _ entry: OutboxEntry,
        as decision: Decision,
        by sign: OutboxSign,
        now: Timestamp,
        vary: Double
    ) -> OutboxChange? {
        switch (decision.place, entry.state) {
        case (_, .delivered), (_, .cancelled), (.onItsWay, _):
            return nil
        case (.arrived, _):
            return proven(entry, by: sign.proof ?? .history, run: sign.run, joinedRun: sign.joinedRun, now: now)
        case (.held, .sending), (.held, .accepted):
            return nil
        case (.held, _) where sign == .taken:
            return taken(entry, now: now)
        case (.over, .sending), (.over, .failed), (.over, .expired):
            return sign.refusal.flatMap { refusedByRun(entry, $0, now: now) }
        case (.over, _):
            return ended(entry, decision.told, by: sign, now: now)
        case (.here, .sending), (.here, .accepted), (.here, .unconfirmed):
            if let fault = sign.refusal { return turnedAway(entry, fault, now: now) }
            return entry.state != .sending && mayBeSentAgain(entry) ? absent(entry, now: now, vary: vary) : nil
        case (_, .queued), (_, .retrying):
            // A person sends it again although it may have arrived; a stop is the newer word.
            return sign.withdrawal.map { withdrawn(entry, $0, mayReturn: decision.place != .here, now: now) }
        case (.inDoubt, .accepted), (.inDoubt, .unconfirmed):
            if decision.told?.kind == .unknown { return entry.isUnknown ? nil : unknown(entry, now: now) }
            return entry.state == .accepted ? gatewayChanged(entry, now: now) : nil
        case (.held, _), (.inDoubt, _), (.here, _):
            return nil
        }
    }

    private func ended(
        _ entry: OutboxEntry,
        _ told: Statement?,
        by sign: OutboxSign,
        now: Timestamp
    ) -> OutboxChange? {
        switch told?.kind {
        case .failed: sign.refusal.flatMap { refusedByRun(entry, $0, now: now) }
        case .lost: lost(entry, now: now)
        default:
            withdrawn(
                entry,
                sign.withdrawal ?? .stopped,
                mayReturn: told?.marks.contains(.mayReturn) == true,
                now: now
            )
        }
    }

    /// Only proof or a person settles the others.
    func mayBeSentAgain(_ entry: OutboxEntry) -> Bool { !entry.isSlashCommand && policy.ambiguous != .hold }

    private func acknowledged(
        _ entry: OutboxEntry,
        _ acknowledgement: AttemptOutcome.Acknowledgement,
        now: Timestamp
    ) -> OutboxChange {
        if acknowledgement.isOfOtherRun(than: entry.upstreamKey), let run = acknowledgement.runID {
            return dropped(entry, for: run, now: now)
        }
        var attempt = OutboxAttempt(at: now, outcome: .accepted, key: entry.upstreamKey)
        if acknowledgement.status == .nothingRan {
            (attempt.code, attempt.detail) = (OutboxFault.nothingRan.code, OutboxFault.nothingRan.detail)
        }
        let isFirst = entry.isFirstUnderKey
        return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
            entry.lastClass = .accepted
            entry.fault = nil
            entry.nextAttemptAt = nil
            if entry.kind.startsRun { entry.runID = acknowledgement.runID ?? entry.upstreamKey }
            switch acknowledgement.status {
            case _ where !entry.kind.startsRun:
                entry.state = .delivered
                entry.proof = .answer
            case .finished where isFirst:
                entry.state = .delivered
                entry.proof = .gatewayReceipt
            case .started, .inFlight, .finished, .failed, .nothingRan:
                entry.state = .accepted
            }
        }
    }

    private func rejected(
        _ entry: OutboxEntry,
        _ rejection: GatewayRejection,
        now: Timestamp,
        vary: Double
    ) -> OutboxChange {
        let fault = OutboxFault(code: rejection.code, detail: rejection.message)
        if rejection.reason == .paused { return waitsForPause(entry, fault, now: now) }
        guard rejection.isTransient else {
            let attempt = OutboxAttempt(of: entry, at: now, .rejectedTerminal, fault)
            return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
                entry.state = .failed
                entry.lastClass = .rejectedTerminal
                entry.fault = fault
                entry.runID = nil
                entry.forgetDispatch()
            }
        }
        var change = failed(
            entry,
            now: now,
            outcome: .rejectedTransient,
            fault: fault,
            retryAfterMs: rejection.retryAfterMs,
            vary: vary
        )
        change.entry.runID = nil
        change.entry.forgetDispatch()
        if rejection.mayBeRemembered { change.entry.renewKey() }
        return change
    }

    /// The gateway takes nothing for a while. The entry waits for that to end, and the attempt does not count.
    private func waitsForPause(_ entry: OutboxEntry, _ fault: OutboxFault, now: Timestamp) -> OutboxChange {
        OutboxChange(of: entry, now: now) { entry in
            entry.state = .queued
            entry.attemptCount = max(0, entry.attemptCount - 1)
            entry.nextAttemptAt = nil
            entry.fault = fault
            entry.runID = nil
            entry.forgetDispatch()
        }
    }

    /// A failed attempt: the next one follows after the schedule's wait, or there is none.
    private func failed(
        _ entry: OutboxEntry,
        now: Timestamp,
        outcome: AttemptClass,
        fault: OutboxFault,
        retryAfterMs: Int64? = nil,
        vary: Double
    ) -> OutboxChange {
        let delay = schedule.delay(afterAttempts: entry.attemptCount, retryAfterMs: retryAfterMs, vary: vary)
        let attempt = OutboxAttempt(of: entry, at: now, outcome, fault, delayMs: delay)
        return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
            entry.lastClass = outcome
            entry.fault = fault
            entry.state = delay == nil ? .failed : .retrying
            entry.nextAttemptAt = delay.map { now.adding(milliseconds: $0) }
        }
    }

    /// How long the search for an entry rests after the gateway refused the repeat of its key.
    func pause(after rejection: GatewayRejection, of entry: OutboxEntry, vary: Double) -> Int64? {
        let retryAfterMs = rejection.retryAfterMs
        return schedule.delay(afterAttempts: entry.attemptCount, retryAfterMs: retryAfterMs, vary: vary)
            ?? policy.failedSearchesMs.last
    }

    // MARK: Restarts

    /// The change that a restart makes to an entry found on disk; nil if the entry continues unchanged.
    package func resumed(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange? {
        guard entry.kind.isKnown || entry.state.hasEnded else {
            return failedWithout(attempt: entry, now: now, fault: .unsupported(entry.kind))
        }
        switch entry.state {
        case .sending:
            let fault = OutboxFault.noAnswer("the program ended while the command was on its way")
            if entry.kind.isIdempotent { return settle(entry, .noAnswer(detail: fault.detail), at: .here, now: now) }
            return unconfirmed(entry, now: now, fault: fault, attempted: true)
        case .queued, .retrying:
            guard policy.resume == .hold, entry.kind == .message else { return nil }
            return failedWithout(attempt: entry, now: now, fault: .heldAfterRestart)
        case .accepted, .unconfirmed, .delivered, .failed, .cancelled, .expired:
            return nil
        }
    }

    // MARK: Entries that may have arrived

    /// The gateway process that acknowledged the entry may be gone, and its memory with it.
    func gatewayChanged(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        let fault = OutboxFault.noAnswer("the gateway was restarted before its transcript showed the message")
        return unconfirmed(entry, now: now, fault: fault, attempted: false)
    }

    /// The entry may have arrived. `attempted`: this ends an attempt, rather than casting doubt on an old answer.
    package func unconfirmed(
        _ entry: OutboxEntry,
        now: Timestamp,
        fault: OutboxFault,
        attempted: Bool
    ) -> OutboxChange {
        let attempt = OutboxAttempt(of: entry, at: now, .ambiguous, fault)
        return OutboxChange(of: entry, now: now, attempt: attempted ? attempt : nil) { entry in
            entry.state = .unconfirmed
            entry.nextAttemptAt = nil
            entry.fault = fault
            if attempted { entry.lastClass = .ambiguous }
        }
    }

    /// The transcript has the message. Nil if the entry is delivered or cancelled already. `run` is the run that
    /// answers it; `joinedRun` read it while it was at work on another message, and no run answers it. A message that was
    /// refused and read later has no run of its own.
    package func proven(
        _ entry: OutboxEntry,
        by proof: OutboxProof,
        run: String? = nil,
        joinedRun: String? = nil,
        now: Timestamp
    ) -> OutboxChange? {
        switch entry.state {
        case .delivered, .cancelled:
            return nil
        case .queued, .sending, .retrying, .accepted, .unconfirmed, .failed, .expired:
            // A failed or expired entry that did arrive becomes delivered: retrying it would send it twice.
            guard entry.mayHaveArrived else { return nil }
            let own = entry.wasRefused ? nil : entry.run
            return OutboxChange(of: entry, now: now) { entry in
                entry.state = .delivered
                entry.proof = proof
                entry.fault = nil
                entry.nextAttemptAt = nil
                entry.runID = joinedRun == nil ? run ?? own : nil
                entry.joinedRun = joinedRun
            }
        }
    }

    /// The gateway has the message in memory. Nil if that changes nothing.
    package func taken(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange? {
        switch entry.state {
        case .sending, .accepted, .delivered, .cancelled:
            return nil
        case .queued, .retrying, .unconfirmed, .failed, .expired:
            // More events of a refused run may follow its refusal.
            guard entry.mayHaveArrived, !entry.wasRefused else { return nil }
            return OutboxChange(of: entry, now: now) { entry in
                entry.state = .accepted
                entry.lastClass = .accepted
                // The message arrived although it seemed absent, so the time of its dispatch is unknown.
                entry.firstDispatchAt = entry.firstDispatchAt ?? now
                entry.fault = nil
                entry.nextAttemptAt = nil
                entry.runID = entry.run
            }
        }
    }

    /// The gateway acknowledged the message and then refused to run it. Its row stands, and the gateway reads it with the session's next
    /// message, so it is not sent again by itself. Nil if the gateway does not have the entry.
    package func refusedByRun(_ entry: OutboxEntry, _ fault: OutboxFault, now: Timestamp) -> OutboxChange? {
        switch entry.state {
        case .queued, .retrying, .delivered, .failed, .cancelled, .expired:
            return nil
        case .sending, .accepted, .unconfirmed:
            let attempt = OutboxAttempt(of: entry, at: now, .rejectedTerminal, fault)
            return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
                entry.state = .failed
                entry.lastClass = .rejectedTerminal
                entry.nextAttemptAt = nil
                entry.fault = fault
                entry.runID = nil
            }
        }
    }

    /// The gateway is at work on equal words and dropped the message. It goes again when that run has ended; the attempt does not count.
    private func dropped(_ entry: OutboxEntry, for run: String, now: Timestamp) -> OutboxChange {
        let fault = OutboxFault.sameWords(run)
        let attempt = OutboxAttempt(of: entry, at: now, .rejectedTransient, fault)
        return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
            entry.state = .queued
            entry.attemptCount = max(0, entry.attemptCount - 1)
            entry.lastClass = .rejectedTransient
            entry.nextAttemptAt = nil
            entry.fault = fault
            entry.runID = nil
            entry.forgetDispatch()
        }
    }

    /// The gateway turned the message away after it had acknowledged it. It knows the key from now on, so another one goes over the next
    /// connection; the attempt does not count.
    private func turnedAway(_ entry: OutboxEntry, _ fault: OutboxFault, now: Timestamp) -> OutboxChange {
        let attempt = OutboxAttempt(of: entry, at: now, .rejectedTransient, fault)
        return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
            entry.state = .retrying
            entry.attemptCount = max(0, entry.attemptCount - 1)
            entry.lastClass = .rejectedTransient
            entry.nextAttemptAt = now
            entry.fault = fault
            entry.runID = nil
            entry.renewKey()
        }
    }

    /// Nothing shows what became of the message, and a gateway at rest would have shown it by now.
    func unknown(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        unconfirmed(entry, now: now, fault: .unknown(wasTaken: entry.wasTaken), attempted: false)
    }

    /// The message turned out not to have arrived, but later ones were sent meanwhile, so a person decides whether it goes again.
    func lost(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        var change = failedWithout(attempt: entry, now: now, fault: .lost)
        change.entry.forgetDispatch()
        return change
    }

    /// The message is known not to have arrived: the same key is sent again. The first time at once, because the
    /// gateway has refused nothing; then after the schedule's shorter waits, because the message itself may crash the gateway.
    package func absent(_ entry: OutboxEntry, now: Timestamp, vary: Double = 0) -> OutboxChange {
        let attempts = entry.attemptCount
        var delay = schedule.delay(afterAttempts: max(1, attempts - 1), retryAfterMs: nil, vary: vary)
            .map { min($0, policy.absentDelayMs) }
        if attempts <= 1 { delay = 0 }
        if attempts >= policy.maxAttempts { delay = nil }
        return OutboxChange(of: entry, now: now) { entry in
            entry.state = delay == nil ? .failed : .retrying
            entry.nextAttemptAt = delay.map { now.adding(milliseconds: $0) }
            // The run id stays, so that a late row is still recognized.
            entry.forgetDispatch()
        }
    }

    /// The gateway answered under one run id and works under another (protocol 3, busy session).
    package func adopted(_ entry: OutboxEntry, run: String, now: Timestamp) -> OutboxChange {
        OutboxChange(of: entry, now: now) { $0.runID = run }
    }

    // MARK: Ends without an attempt

    /// The calendar time at which the entry ends if nothing else moves it. An acknowledged entry was sent in time, and
    /// its run may take long; an entry in doubt is searched for at least once.
    package func deadline(of entry: OutboxEntry) -> Timestamp {
        switch entry.state {
        case .accepted: max(entry.expiresAt, entry.updatedAt.adding(milliseconds: policy.proofPatienceMs))
        case .unconfirmed: max(entry.expiresAt, entry.updatedAt.adding(milliseconds: policy.doubtPatienceMs))
        case .queued, .sending, .retrying, .delivered, .failed, .cancelled, .expired: entry.expiresAt
        }
    }

    package func expired(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        let detail =
            switch entry.state {
            case .unconfirmed, .accepted: "its delivery could not be shown in the time it had"
            default:
                entry.fault.map { "not sent in the time it had; last: \($0.detail)" } ?? "not sent in the time it had"
            }
        return OutboxChange(of: entry, now: now) { entry in
            entry.state = .expired
            entry.nextAttemptAt = nil
            entry.fault = .expired(detail)
        }
    }

    /// Ends an entry that must not go out again and did not arrive.
    /// - Parameter mayReturn: the gateway may still read the words of the stopped message.
    func withdrawn(
        _ entry: OutboxEntry,
        _ reason: Withdrawal,
        mayReturn: Bool = false,
        now: Timestamp
    ) -> OutboxChange {
        switch reason {
        case .stopped:
            return OutboxChange(of: entry, now: now) { entry in
                entry.state = .cancelled
                entry.nextAttemptAt = nil
                entry.fault = mayReturn ? .stoppedUnseen : .stopped
                entry.forgetDispatch()
            }
        case .targetChanged(let detail):
            let fault = OutboxFault.targetChanged(detail)
            let attempt = OutboxAttempt(of: entry, at: now, .routeChanged, fault)
            return OutboxChange(of: entry, now: now, attempt: attempt) { entry in
                entry.state = .failed
                entry.nextAttemptAt = nil
                entry.lastClass = .routeChanged
                entry.fault = fault
                entry.forgetDispatch()
            }
        }
    }

    func failedWithout(attempt entry: OutboxEntry, now: Timestamp, fault: OutboxFault) -> OutboxChange {
        OutboxChange(of: entry, now: now) { entry in
            entry.state = .failed
            entry.nextAttemptAt = nil
            entry.fault = fault
        }
    }

    package func superseded(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange {
        OutboxChange(of: entry, now: now) { entry in
            entry.state = .cancelled
            entry.nextAttemptAt = nil
            entry.fault = .superseded
        }
    }
}
