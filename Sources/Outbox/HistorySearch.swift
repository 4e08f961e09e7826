import Ledger

/// The progress of the search for one entry in its session's history: the next one, the current one, and the step after
/// one that found nothing.
///
/// The search for an entry in doubt settles the doubt; the search for an accepted one checks that its row is on disk.
struct HistorySearch: Sendable, Equatable {
    private var reconciliation = Reconciliation()
    private var current: SearchID?
    /// Monotonic time of the next search.
    private(set) var nextMs: Int64?
    /// The number of searches for an accepted entry.
    private var checks = 0
    /// The gateway answered that the key has run, so the row should exist by now.
    private var isRowExpected = false
    /// The pause after a repeat that the gateway refused for the moment.
    private var pauseMs: Int64?
    /// The connection over which a refused entry was searched for and not found.
    private var missingOver: Int64?

    /// Whether no search is in progress.
    var isIdle: Bool { current == nil }

    func isDue(_ now: Moment) -> Bool { nextMs.map { $0 <= now.monotonicMs } ?? false }

    // MARK: The entry

    mutating func rowShouldBeThere() { isRowExpected = true }

    /// The gateway acknowledged the entry. Returns the pause before the first search.
    mutating func accepted(policy: OutboxPolicy) -> Int64? {
        defer { isRowExpected = false }
        checks = 0
        return isRowExpected ? 0 : policy.proofChecksMs.first
    }

    /// The entry waits for its turn again: later doubt starts a new search.
    mutating func startAnew() { reconciliation = Reconciliation() }

    /// The last repeat did not reach the gateway, or was refused before the gateway checked its key.
    mutating func repeatFailed() { reconciliation.repeatFailed() }

    /// - Parameter pauseMs: how long the gateway is to be left alone.
    mutating func repeatRefused(pauseMs: Int64?) {
        repeatFailed()
        self.pauseMs = pauseMs
    }

    func hasSearched(over connection: Int64) -> Bool { missingOver == connection }

    mutating func searchedBeforeSending(over connection: Int64) { missingOver = connection }

    // MARK: One search

    /// Asks for a search for an entry that may have arrived, as soon as there is room.
    mutating func want(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        guard context.isOnline, isIdle, [.accepted, .unconfirmed].contains(entry.state) else { return }
        forgetNext()
        if let pauseMs {
            self.pauseMs = nil
            return wait(pauseMs, entry.id, &context)
        }
        context.searches.want(entry.id)
    }

    mutating func wait(_ waitMs: Int64?, _ id: String, _ context: inout DispatcherContext) {
        if let at = rest(waitMs, from: context.now) { context.timers.wake(.entry(id), atMs: at) }
    }

    mutating func waitAfterFailure(_ id: String, _ context: inout DispatcherContext) {
        wait(context.policy.failedSearchesMs.first, id, &context)
    }

    mutating func start(_ entry: OutboxEntry, _ depth: SearchDepth, _ context: inout DispatcherContext) {
        let number = context.searches.begin(entry)
        begun(number)
        let since = entry.firstDispatchAt ?? entry.createdAt
        context.order(.search(SearchOrder(id: number, entry: entry, depth: depth, since: since)))
    }

    /// Sets the time of the next search and returns it. Nil if there is no wait.
    mutating func rest(_ waitMs: Int64?, from now: Moment) -> Int64? {
        guard let waitMs else { return nil }
        nextMs = now.monotonicMs + waitMs
        return nextMs
    }

    /// Cancels the scheduled search: it is wanted now, or is obsolete.
    mutating func forgetNext() { nextMs = nil }

    /// The first step of a search. Nil for a state that the history cannot change.
    mutating func begin(_ state: OutboxState) -> Reconciliation.Ask? {
        switch state {
        case .unconfirmed: reconciliation.begin()
        case .accepted, .queued, .retrying: .search(.complete)
        case .sending, .delivered, .failed, .cancelled, .expired: nil
        }
    }

    mutating func begun(_ number: SearchID) { current = number }

    /// False if the report belongs to another search.
    mutating func end(_ number: SearchID) -> Bool {
        guard current == number else { return false }
        current = nil
        return true
    }

    mutating func linkOpened() { reconciliation.repeatFailed() }

    /// The current search ended with the link.
    mutating func linkLost() { current = nil }

    /// The step after a search that found no proof.
    mutating func received(
        _ report: SearchReport,
        _ state: OutboxState,
        _ situation: Reconciliation.Situation,
        policy: OutboxPolicy
    ) -> Reconciliation.Ask? {
        switch state {
        case .unconfirmed:
            return reconciliation.received(report, situation, policy: policy)
        case .accepted:
            if report.hasFailed { return policy.failedSearchesMs.last.map { .searchAgain(afterMs: $0) } }
            guard !policy.proofChecksMs.isEmpty else { return nil }
            // The gateway may have been restarted inside its process, which loses messages without a trace.
            if situation.process == .either, report.isComplete, !report.hasActiveRun, !situation.isBusy {
                let left = policy.doubtPatienceMs - situation.sinceContactMs
                return left <= 0 ? .doubt : .searchAgain(afterMs: min(left, policy.proofChecksMs[0]))
            }
            // The same process acknowledged the entry, and its row may be late. Search again, less often.
            checks += 1
            return .searchAgain(afterMs: policy.proofChecksMs[min(checks, policy.proofChecksMs.count - 1)])
        case .queued, .sending, .retrying, .delivered, .failed, .cancelled, .expired:
            return nil
        }
    }
}
