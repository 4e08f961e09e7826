package import Basics

extension OutboxRules {
    /// Takes an entry back, or dismisses one that ended badly. Nil when it is cancelled already.
    package func cancel(
        _ entry: OutboxEntry,
        force: Bool,
        expectedVersion: Int64? = nil,
        now: Timestamp
    ) throws(OutboxRefusal) -> OutboxChange? {
        if let expectedVersion, expectedVersion != entry.version { throw .staleVersion(current: entry.version) }
        switch entry.state {
        case .queued, .retrying, .failed, .expired:
            break
        case .unconfirmed:
            guard force else { throw .needsForce }
        case .sending, .accepted, .delivered:
            throw .alreadyDispatched(entry.state)
        case .cancelled:
            return nil
        }
        return change(entry, now: now) { entry in
            entry.state = .cancelled
            entry.nextAttemptAt = nil
        }
    }

    /// Sends again by a person's word: the count starts anew. The same key after doubt, so that the gateway can still
    /// recognise it; a new one after a refusal, which the gateway may repeat from memory.
    package func retry(
        _ entry: OutboxEntry,
        expectedVersion: Int64?,
        gatewayIdentity: String?,
        now: Timestamp
    ) throws(OutboxRefusal) -> OutboxChange {
        if let expectedVersion, expectedVersion != entry.version { throw .staleVersion(current: entry.version) }
        switch entry.state {
        case .failed, .expired, .retrying, .unconfirmed:
            break
        case .queued, .cancelled:
            throw .notRetryable(entry.state)
        case .sending, .accepted, .delivered:
            throw .alreadyDispatched(entry.state)
        }
        // An approval's own time is the asker's; nothing here may lengthen it.
        if entry.kind == .approval, entry.expiresAt <= now { throw .notRetryable(entry.state) }
        return change(entry, now: now) { entry in
            entry.state = .queued
            entry.attemptCount = 0
            entry.nextAttemptAt = nil
            entry.fault = nil
            entry.proof = nil
            if entry.kind != .approval {
                entry.expiresAt = max(now, entry.notBefore ?? now).adding(milliseconds: entry.ttlMs)
            }
            switch entry.lastClass {
            case .rejectedTerminal:
                entry.renewKey()
            case .routeChanged:
                entry.gatewayIdentity = gatewayIdentity
            case .accepted, .notDispatched, .ambiguous, .rejectedTransient, .none:
                // A transient refusal renewed the key when it came, where that was needed.
                break
            }
        }
    }

    /// What a restart of this program makes of an entry found on disk; nil when it goes on as it is.
    package func resumed(_ entry: OutboxEntry, now: Timestamp) -> OutboxChange? {
        guard entry.kind.isKnown || entry.state.isTerminal else {
            return failedWithout(attempt: entry, now: now, fault: .unsupported(entry.kind))
        }
        switch entry.state {
        case .sending:
            let fault = OutboxFault.noAnswer("the program ended while the command was on its way")
            if entry.kind.isIdempotent { return settle(entry, .noAnswer(detail: fault.detail), now: now) }
            return unconfirmed(entry, now: now, fault: fault, attempted: true)
        case .accepted:
            let fault = OutboxFault.noAnswer("the link was lost before its arrival was shown")
            return unconfirmed(entry, now: now, fault: fault, attempted: false)
        case .queued, .retrying:
            guard policy.resume == .hold, entry.kind == .message else { return nil }
            return failedWithout(attempt: entry, now: now, fault: .heldAfterRestart)
        case .unconfirmed, .delivered, .failed, .cancelled, .expired:
            return nil
        }
    }
}
