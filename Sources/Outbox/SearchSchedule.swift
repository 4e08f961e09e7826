import Ledger

/// The reading of the session's transcript for one entry that may have arrived: the search under way, and when the next one is due.
struct SearchSchedule: Sendable, Equatable {
    private var current: Search?
    /// Monotonic time of the next search.
    private(set) var nextMs: Int64?
    /// Searches since the entry came into its state. Each finds less than the one before, so they come less and less often.
    private var count = 0
    private var failures = 0
    /// The newest page did not settle the doubt, so the next search reads back past the dispatch.
    private var isReadingBack = false
    /// The gateway answered that the key has run, so the row should exist by now.
    private var isRowExpected = false
    /// The pause after a repeat that the gateway refused for the moment.
    private var pauseMs: Int64?

    private struct Search: Sendable, Equatable {
        let id: SearchID
        let knew: Fact.Knowledge
    }

    /// Whether no search is in progress.
    var isIdle: Bool { current == nil }

    func isDue(_ now: Moment) -> Bool { nextMs.map { $0 <= now.monotonicMs } ?? false }

    // MARK: The entry

    mutating func rowShouldBeThere() { isRowExpected = true }

    /// The gateway acknowledged the entry. Returns the pause before the first search.
    mutating func accepted(policy: OutboxPolicy) -> Int64? {
        defer { isRowExpected = false }
        startAnew()
        return isRowExpected ? 0 : pauseAfterNothing(.accepted, policy)
    }

    /// The entry is in a new state, so its searches are counted anew.
    mutating func startAnew() { (count, failures, isReadingBack) = (0, 0, false) }

    /// - Parameter pauseMs: how long the gateway is to be left alone.
    mutating func repeatRefused(pauseMs: Int64?) { self.pauseMs = pauseMs }

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

    mutating func start(_ entry: OutboxEntry, knowing knew: Fact.Knowledge, _ context: inout DispatcherContext) {
        let id = context.searches.begin(entry)
        current = Search(id: id, knew: knew)
        let since = entry.firstDispatchAt ?? entry.createdAt
        // An entry in doubt is first looked for on the newest page. The search for an accepted entry reads back at once, because
        // events have not shown its row for some time.
        let depth = isReadingBack || entry.state != .unconfirmed ? SearchDepth.complete : .recent
        context.order(.search(SearchOrder(id: id, entry: entry, depth: depth, since: since)))
    }

    /// Ends the search under way.
    /// - Returns: the answers that were known when it began; nil if the report belongs to another search.
    mutating func end(_ id: SearchID) -> Fact.Knowledge? {
        guard let current, current.id == id else { return nil }
        self.current = nil
        return current.knew
    }

    /// The current search ended with the link.
    mutating func linkLost() {
        current = nil
        isReadingBack = false
    }

    // MARK: The next search

    /// The newest page does not show enough: the next search reads back at once.
    /// - Returns: false if the last one did already.
    mutating func readBack() -> Bool {
        defer { isReadingBack = true }
        return !isReadingBack
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
        isReadingBack = false
        let waits = state == .accepted ? policy.proofChecksMs : policy.emptySearchesMs
        defer { count += 1 }
        return waits.isEmpty ? nil : waits[min(count, waits.count - 1)]
    }

    /// Cancels the scheduled search: it is wanted now, or is obsolete.
    mutating func forgetNext() { nextMs = nil }
}

/// The searches in the transcripts of sessions: the entries that need one, and those in progress.
struct SearchQueue: Sendable {
    struct Search: Sendable {
        let entry: String
        /// The entry's key when the search began.
        let key: String
    }

    /// The most searches at the same time, over all sessions.
    private static let most = 4

    private var underWay: [SearchID: Search] = [:]
    private var wanted = UniqueQueue<String>()
    private var lastNumber: Int64 = 0

    mutating func want(_ id: String) { wanted.append(id) }

    /// The next entry to search for; nil if there is none, or no room.
    mutating func next() -> String? { underWay.count < Self.most ? wanted.popFirst() : nil }

    mutating func begin(_ entry: OutboxEntry) -> SearchID {
        lastNumber += 1
        let id = SearchID(number: lastNumber)
        underWay[id] = Search(entry: entry.id, key: entry.upstreamKey)
        return id
    }

    mutating func finish(_ id: SearchID) -> Search? { underWay.removeValue(forKey: id) }

    /// Forgets all searches after the link was lost; the current ones end without a report.
    mutating func removeAll() {
        underWay.removeAll()
        wanted.removeAll()
    }
}
