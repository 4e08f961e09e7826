/// Where the search for one entry in its session's history stands: the next look, the look under way, and what follows from one
/// that found nothing.
///
/// An entry in doubt is searched to settle the doubt; an accepted one, to see that its row got to the disk.
struct HistorySearch: Sendable, Equatable {
    private var reconciliation = Reconciliation()
    private var scan: ScanID?
    /// Monotonic time of the next look.
    private(set) var nextMs: Int64?
    /// Looks for an accepted entry.
    private var checks = 0
    /// The gateway said that the key has run: the row should be there by now.
    private var isRowExpected = false
    /// The connection over which a refused entry was looked for, and not found.
    private var missingOver: Int64?

    /// No look is under way.
    var isIdle: Bool { scan == nil }

    func isDue(_ now: Moment) -> Bool { nextMs.map { $0 <= now.monotonicMs } ?? false }

    // MARK: The entry

    mutating func rowShouldBeThere() { isRowExpected = true }

    /// The gateway acknowledged the entry. Gives the rest before the first look.
    mutating func accepted(policy: OutboxPolicy) -> Int64? {
        defer { isRowExpected = false }
        checks = 0
        return isRowExpected ? 0 : policy.proofChecksMs.first
    }

    /// The entry waits for its turn again: doubt that comes later is a new one.
    mutating func startAnew() { reconciliation = Reconciliation() }

    /// The last repeat did not reach the gateway, or was refused by it before it looked at the key.
    mutating func repeatFailed() { reconciliation.repeatFailed() }

    func hasLooked(over connection: Int64) -> Bool { missingOver == connection }

    mutating func lookedBeforeSending(over connection: Int64) { missingOver = connection }

    // MARK: Looks

    /// Sets the time of the next look, and gives it. Nil where there is no wait to rest for.
    mutating func rest(_ waitMs: Int64?, from now: Moment) -> Int64? {
        guard let waitMs else { return nil }
        nextMs = now.monotonicMs + waitMs
        return nextMs
    }

    /// No look stands in the calendar: it is wanted now, or what it was for has changed.
    mutating func forgetNext() { nextMs = nil }

    /// A look begins. Nil for a state that nothing in the history can change.
    mutating func begin(_ state: OutboxState) -> Reconciliation.Ask? {
        switch state {
        case .unconfirmed: reconciliation.begin()
        case .accepted, .queued, .retrying: .scan(.complete)
        case .sending, .delivered, .failed, .cancelled, .expired: nil
        }
    }

    mutating func begun(_ scan: ScanID) { self.scan = scan }

    /// False when the report is of another look.
    mutating func end(_ scan: ScanID) -> Bool {
        guard self.scan == scan else { return false }
        self.scan = nil
        return true
    }

    /// The link went, and the look under way with it.
    mutating func linkLost() { scan = nil }

    /// What follows from a look that found no proof.
    mutating func received(
        _ report: ScanReport,
        _ state: OutboxState,
        _ situation: Reconciliation.Situation,
        policy: OutboxPolicy
    ) -> Reconciliation.Ask? {
        switch state {
        case .unconfirmed:
            return reconciliation.received(report, situation, policy: policy)
        case .accepted:
            if report.hasFailed { return policy.failedLooksMs.last.map { .lookAgain(afterMs: $0) } }
            // The gateway has acknowledged it and is still the same; its row may come late. Look again, less often.
            checks += 1
            guard !policy.proofChecksMs.isEmpty else { return nil }
            return .lookAgain(afterMs: policy.proofChecksMs[min(checks, policy.proofChecksMs.count - 1)])
        case .queued, .sending, .retrying, .delivered, .failed, .cancelled, .expired:
            return nil
        }
    }
}
