import Ledger

/// The doubt whether one entry has arrived: the search for it in the session's transcript, when the next one is due, the repeat of its key,
/// and since when the gateway could have shown it.
struct EntryDoubt: Sendable {
    private var current: Search?
    /// Something happened during the search that its page may not show.
    private var wantsAnother = false
    /// Monotonic time of the next search.
    private(set) var nextMs: Int64?
    /// Searches since the entry came into its state. Each finds less than the one before, so they come less and less often.
    private var count = 0
    private var failures = 0
    /// The gateway answered that the key has run, so the row should exist by now.
    private var isRowExpected = false
    /// The pause after a repeat that the gateway refused for the moment.
    private var pauseMs: Int64?
    /// The key was repeated since the entry came into doubt, or since the last connection. An unanswered repeat would otherwise be
    /// repeated as fast as the link comes and goes.
    private(set) var hasRepeated = false
    /// Monotonic time since which the gateway could have shown the message: the last connection or answer.
    private var quietSinceMs: Int64 = 0

    private struct Search: Sendable {
        let id: SearchID
        let knew: Fact.Knowledge
    }

    /// Whether no search is in progress.
    var isIdle: Bool { current == nil }

    func isDue(_ now: Moment) -> Bool { nextMs.map { $0 <= now.monotonicMs } ?? false }

    // MARK: The entry

    /// The gateway answers, or is there again: what it has it could show from now on.
    mutating func heard(at now: Moment) { quietSinceMs = now.monotonicMs }

    mutating func connected(at now: Moment) {
        heard(at: now)
        hasRepeated = false
    }

    /// The current search ends with the link.
    mutating func linkLost() {
        (current, wantsAnother) = (nil, false)
    }

    mutating func rowShouldBeThere() { isRowExpected = true }

    /// The gateway acknowledged the entry. Returns the pause before the first search.
    mutating func accepted(policy: OutboxPolicy) -> Int64? {
        defer { isRowExpected = false }
        startAnew()
        return isRowExpected ? 0 : pauseAfterNothing(.accepted, policy)
    }

    /// The entry is in a new state, so its searches are counted anew.
    mutating func startAnew() { (count, failures) = (0, 0) }

    /// The gateway has nothing of the entry, or a person sends it again.
    mutating func settled() {
        startAnew()
        hasRepeated = false
    }

    /// Whether a gateway at rest would have shown the message by now.
    func isQuiet(_ entry: OutboxEntry, _ context: DispatcherContext) -> Bool {
        untilQuietMs(context) <= 0
            && !context.isBusy(entry.session, besides: entry.state == .accepted ? nil : entry.upstreamKey)
    }

    private func untilQuietMs(_ context: DispatcherContext) -> Int64 {
        quietSinceMs + context.policy.unknownAfterMs - context.now.monotonicMs
    }

    // MARK: The repeat

    mutating func repeats() { hasRepeated = true }

    /// The repeat was not written, or not sent.
    mutating func repeatNotSent() { hasRepeated = false }

    /// - Parameter pauseMs: how long the gateway is to be left alone.
    mutating func repeatRefused(pauseMs: Int64?) {
        hasRepeated = false
        self.pauseMs = pauseMs
    }

    // MARK: One search

    /// Asks for a search for an entry that may have arrived, as soon as there is room.
    mutating func want(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        guard context.isOnline, isIdle, entry.isLookedFor else { return }
        forgetNext()
        if let pauseMs {
            self.pauseMs = nil
            return wait(pauseMs, entry.id, &context)
        }
        context.searches.want(entry.id)
    }

    /// The same after the search under way, if there is one.
    mutating func wantNewer(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        wantsAnother = !isIdle
        want(entry, &context)
    }

    /// The search under way is over, and its report was heard.
    mutating func startNewer(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        guard wantsAnother else { return }
        wantsAnother = false
        want(entry, &context)
    }

    mutating func start(_ entry: OutboxEntry, knowing knew: Fact.Knowledge, _ context: inout DispatcherContext) {
        let id = context.searches.begin(entry)
        current = Search(id: id, knew: knew)
        let since = entry.firstDispatchAt ?? entry.createdAt
        context.order(.search(SearchOrder(id: id, entry: entry, since: since)))
    }

    /// Ends the search under way.
    /// - Returns: the answers that were known when it began; nil if the report belongs to another search.
    mutating func end(_ id: SearchID) -> Fact.Knowledge? {
        guard let current, current.id == id else { return nil }
        self.current = nil
        return current.knew
    }

    // MARK: The next search

    /// A step could not be carried out, so the next search follows soon.
    mutating func lookAgain(_ id: String, _ context: inout DispatcherContext) {
        wait(context.policy.failedSearchesMs.first, id, &context)
    }

    /// The transcript could not be read.
    mutating func searchFailed(_ entry: OutboxEntry, _ context: inout DispatcherContext) {
        wait(pauseAfterFailure(entry.state, context.policy), entry.id, &context)
    }

    /// The page does not show the entry, which stays as it is.
    /// - Parameter isFresh: once the gateway was quiet for long enough, such a page decides.
    mutating func foundNothing(
        _ entry: OutboxEntry,
        isFresh: Bool,
        _ context: inout DispatcherContext
    ) {
        let (pause, left) = (pauseAfterNothing(entry.state, context.policy), untilQuietMs(context))
        wait(isFresh && left > 0 ? pause.map { min($0, left) } : pause, entry.id, &context)
    }

    mutating func wait(_ waitMs: Int64?, _ id: String, _ context: inout DispatcherContext) {
        if let at = rest(waitMs, from: context.now) { context.timers.wake(.entry(id), atMs: at) }
    }

    /// Sets the time of the next search and returns it. Nil if there is no wait.
    mutating func rest(_ waitMs: Int64?, from now: Moment) -> Int64? {
        guard let waitMs else { return nil }
        nextMs = now.monotonicMs + waitMs
        return nextMs
    }

    /// The pause after a search that could not be carried out.
    mutating func pauseAfterFailure(_ state: OutboxState, _ policy: OutboxPolicy) -> Int64? {
        let waits = policy.failedSearchesMs
        defer { failures += 1 }
        return state == .accepted || waits.isEmpty ? waits.last : waits[min(failures, waits.count - 1)]
    }

    /// The pause before the first search for an accepted entry, and after each search that found nothing.
    mutating func pauseAfterNothing(_ state: OutboxState, _ policy: OutboxPolicy) -> Int64? {
        let waits = state == .accepted ? policy.proofChecksMs : policy.emptySearchesMs
        defer { count += 1 }
        return waits.isEmpty ? nil : waits[min(count, waits.count - 1)]
    }

    /// Cancels the scheduled search: it is wanted now, or is obsolete.
    mutating func forgetNext() { nextMs = nil }
}
