package import Basics

/// A person's command about an entry.
package enum OutboxCommand: Sendable, Equatable {
    /// Cancel an entry, or dismiss one that failed or expired.
    case cancel(force: Bool)
    /// Send again, with a new count of attempts.
    case retry

    /// The change that the command makes; nil if the entry is cancelled already.
    package func change(
        of entry: OutboxEntry,
        expectedVersion: Int64? = nil,
        now: Timestamp
    ) throws(OutboxRefusal) -> OutboxChange? {
        if let expectedVersion, expectedVersion != entry.version { throw .staleVersion(current: entry.version) }
        return switch self {
        case .cancel(let force): try Self.cancel(entry, force: force, now: now)
        case .retry: try Self.retry(entry, now: now)
        }
    }

    private static func cancel(
        _ entry: OutboxEntry,
        force: Bool,
        now: Timestamp
    ) throws(OutboxRefusal) -> OutboxChange? {
        switch entry.state {
        case .failed, .expired:
            break
        case .queued, .retrying:
            // A message that was in doubt when a person retried it waits here for the link. It may have arrived and may run
            // although it is cancelled.
            guard force || entry.firstDispatchAt == nil || entry.kind.isIdempotent else { throw .needsForce }
        case .unconfirmed:
            guard force else { throw .needsForce }
        case .sending, .accepted, .delivered:
            throw .alreadyDispatched(entry.state)
        case .cancelled:
            return nil
        }
        return OutboxChange(of: entry, now: now) { entry in
            entry.state = .cancelled
            entry.nextAttemptAt = nil
        }
    }

    /// After doubt the same key is used, so that the gateway can recognize it; after a refusal a new key, since the gateway may repeat the
    /// refusal from memory.
    private static func retry(_ entry: OutboxEntry, now: Timestamp) throws(OutboxRefusal) -> OutboxChange {
        switch entry.state {
        case .failed, .expired, .retrying, .unconfirmed:
            break
        case .queued, .cancelled:
            throw .notRetryable(entry.state)
        case .sending, .accepted, .delivered:
            throw .alreadyDispatched(entry.state)
        }
        // The run of a message that the gateway has lost was told as ended, so the next one gets an id of its own.
        let isLost = entry.state.hasEnded && entry.firstDispatchAt == nil && entry.runID != nil
        var change = OutboxChange(of: entry, now: now) { entry in
            entry.state = .queued
            entry.attemptCount = 0
            entry.nextAttemptAt = nil
            entry.fault = nil
            entry.proof = nil
            entry.expiresAt = max(now, entry.notBefore ?? now).adding(milliseconds: entry.ttlMs)
            // After a transient refusal the key was already renewed if necessary.
            if entry.lastClass == .rejectedTerminal || isLost { entry.renewKey() }
        }
        change.liftsStops = entry.kind.startsRun
        return change
    }
}
