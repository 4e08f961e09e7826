package import Basics

/// An entry that may have arrived, and what shows whether it did.
extension OutboxRules {
    /// It may have arrived. `attempted` when this ends an attempt, rather than casting doubt on an old answer.
    package func unconfirmed(
        _ entry: OutboxEntry,
        now: Timestamp,
        fault: OutboxFault,
        attempted: Bool
    ) -> OutboxChange {
        let attempt = OutboxAttempt(of: entry, at: now, .ambiguous, fault)
        return change(entry, now: now, attempt: attempted ? attempt : nil) { entry in
            entry.state = .unconfirmed
            entry.nextAttemptAt = nil
            entry.fault = fault
            if attempted { entry.lastClass = .ambiguous }
        }
    }

    /// The gateway has it. Nil when that is no news.
    package func proven(_ entry: OutboxEntry, by proof: OutboxProof, now: Timestamp) -> OutboxChange? {
        switch entry.state {
        case .delivered, .cancelled:
            return nil
        case .queued, .sending, .retrying, .accepted, .unconfirmed, .failed, .expired:
            // A failed or expired entry that turns out to have arrived is told so: retrying it would send it twice.
            guard entry.runID != nil || entry.firstDispatchAt != nil || entry.keyGeneration > 1 else { return nil }
            return change(entry, now: now) { entry in
                entry.state = .delivered
                entry.proof = proof
                entry.fault = nil
                entry.nextAttemptAt = nil
                entry.runID = entry.runID ?? entry.upstreamKey
            }
        }
    }

    /// History has been read past the first dispatch and does not have it: the same key is sent again.
    package func absent(_ entry: OutboxEntry, now: Timestamp, vary: Double = 0) -> OutboxChange {
        let delay = schedule.delay(afterAttempts: entry.attemptCount, retryAfterMs: nil, vary: vary)
        return change(entry, now: now) { entry in
            entry.state = delay == nil ? .failed : .retrying
            entry.nextAttemptAt = delay.map { now.adding(milliseconds: $0) }
            // The run id stays: should the row turn up after all, it is recognised.
            entry.forgetDispatch()
        }
    }

    /// The gateway answered under one run id and does the work under another (protocol 3, busy session).
    package func adopted(_ entry: OutboxEntry, run: String, now: Timestamp) -> OutboxChange {
        change(entry, now: now) { $0.runID = run }
    }
}
