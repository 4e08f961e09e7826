package import Basics

/// What happens to an entry, as pure functions of the entry, the event and the clock (outbox rules, part 1.6).
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
        gatewayIdentity: String? = nil
    ) -> OutboxChange {
        change(entry, now: now) { next in
            next.state = .sending
            next.attemptCount += 1
            next.nextAttemptAt = nil
            next.runID = entry.kind.startsRun ? entry.upstreamKey : nil
            next.gatewayIdentity = entry.gatewayIdentity ?? gatewayIdentity
            next.isRepeatInDoubt = entry.firstDispatchAt != nil && !entry.kind.isIdempotent
            if entry.firstDispatchAt == nil {
                next.firstDispatchAt = now
                next.dispatchUptimeMs = uptimeMs
            }
        }
    }

    /// There was no link to write to. A try that only a reconnect brought forward is not held against the entry.
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
            from: entry.version,
            now: now,
            outcome: .notDispatched,
            fault: .unreachable(detail),
            vary: vary
        )
    }

    /// The link's report about the dispatch that made the entry `sending`.
    package func settle(
        _ entry: OutboxEntry,
        _ outcome: AttemptOutcome,
        now: Timestamp,
        wasKicked: Bool = false,
        vary: Double = 0
    ) -> OutboxChange {
        switch outcome {
        case .acknowledged(let acknowledgement):
            return acknowledged(entry, acknowledgement, now: now)
        case .notDispatched(let detail):
            if entry.isRepeatInDoubt {
                return unconfirmed(entry, now: now, fault: .unreachable(detail), attempted: true)
            }
            var untouched = entry
            untouched.forgetDispatch()
            untouched.runID = nil
            if wasKicked { untouched.attemptCount = max(0, entry.attemptCount - 1) }
            return failed(
                untouched,
                from: entry.version,
                now: now,
                outcome: .notDispatched,
                fault: .unreachable(detail),
                vary: vary
            )
        case .rejected(let rejection):
            // The refusal is about this repeat; what became of the first dispatch is still to be found out.
            if entry.isRepeatInDoubt {
                let fault = OutboxFault(code: rejection.code, detail: rejection.message)
                return unconfirmed(entry, now: now, fault: fault, attempted: true)
            }
            return rejected(entry, rejection, now: now, vary: vary)
        case .noAnswer(let detail):
            if entry.kind.isIdempotent {
                return failed(
                    entry,
                    from: entry.version,
                    now: now,
                    outcome: .ambiguous,
                    fault: .noAnswer(detail),
                    vary: vary
                )
            }
            return unconfirmed(entry, now: now, fault: .noAnswer(detail), attempted: true)
        }
    }

    private func acknowledged(
        _ entry: OutboxEntry,
        _ acknowledgement: AttemptOutcome.Acknowledgement,
        now: Timestamp
    ) -> OutboxChange {
        let attempt = OutboxAttempt(at: now, outcome: .accepted, key: entry.upstreamKey)
        return change(entry, now: now, attempt: attempt) { entry in
            entry.lastClass = .accepted
            entry.fault = nil
            entry.nextAttemptAt = nil
            if entry.kind.startsRun { entry.runID = acknowledgement.runID ?? entry.upstreamKey }
            switch acknowledgement.status {
            case _ where !entry.kind.startsRun:
                entry.state = .delivered
                entry.proof = .answer
            case .started:
                entry.state = .accepted
            case .inFlight, .finished:
                entry.state = .delivered
                entry.proof = .gatewayReceipt
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
        guard rejection.isTransient else {
            let attempt = OutboxAttempt(of: entry, at: now, .rejectedTerminal, fault)
            return change(entry, now: now, attempt: attempt) { entry in
                entry.state = .failed
                entry.lastClass = .rejectedTerminal
                entry.fault = fault
                entry.runID = nil
                entry.forgetDispatch()
            }
        }
        var change = failed(
            entry,
            from: entry.version,
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

    /// A failed try: the next one is due after the schedule's wait, or there is none.
    private func failed(
        _ entry: OutboxEntry,
        from version: Int64,
        now: Timestamp,
        outcome: AttemptClass,
        fault: OutboxFault,
        retryAfterMs: Int64? = nil,
        vary: Double
    ) -> OutboxChange {
        let delay = schedule.delay(afterAttempts: entry.attemptCount, retryAfterMs: retryAfterMs, vary: vary)
        let attempt = OutboxAttempt(of: entry, at: now, outcome, fault, delayMs: delay)
        var change = change(entry, now: now, attempt: attempt) { entry in
            entry.lastClass = outcome
            entry.fault = fault
            entry.state = delay == nil ? .failed : .retrying
            entry.nextAttemptAt = delay.map { now.adding(milliseconds: $0) }
        }
        change.expectedVersion = version
        change.entry.version = version + 1
        return change
    }

    func change(
        _ entry: OutboxEntry,
        now: Timestamp,
        attempt: OutboxAttempt? = nil,
        _ edit: (inout OutboxEntry) -> Void
    ) -> OutboxChange {
        var next = entry
        edit(&next)
        next.version = entry.version + 1
        // Times of one entry never go back, whatever the wall clock does.
        next.updatedAt = max(now, entry.updatedAt)
        return OutboxChange(expectedVersion: entry.version, entry: next, attempt: attempt)
    }
}
