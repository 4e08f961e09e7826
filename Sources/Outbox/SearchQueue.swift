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
