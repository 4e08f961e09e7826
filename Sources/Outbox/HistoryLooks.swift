/// Looks into the histories of sessions: the entries that need one, and the looks in progress.
struct HistoryLooks: Sendable {
    struct Look: Sendable {
        let id: String
        /// The entry's key when the look began.
        let key: String
    }

    /// The most looks at the same time, over all sessions.
    private static let most = 4

    private var underWay: [ScanID: Look] = [:]
    private var wanted = UniqueQueue<String>()
    private var lastNumber: Int64 = 0

    mutating func want(_ id: String) { wanted.append(id) }

    /// The next entry to search for; nil if there is none, or no room.
    mutating func next() -> String? { underWay.count < Self.most ? wanted.popFirst() : nil }

    mutating func begin(_ entry: OutboxEntry) -> ScanID {
        lastNumber += 1
        let scan = ScanID(number: lastNumber)
        underWay[scan] = Look(id: entry.id, key: entry.upstreamKey)
        return scan
    }

    mutating func finish(_ scan: ScanID) -> Look? { underWay.removeValue(forKey: scan) }

    /// Forgets all looks after the link was lost; the current ones end without a report.
    mutating func removeAll() {
        underWay.removeAll()
        wanted.removeAll()
    }
}
