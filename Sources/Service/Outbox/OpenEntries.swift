import Basics
import Outbox

/// The entries that are not final, counted as they change, so that the status screen needs no query.
struct OpenEntries {
    private struct Open {
        let state: OutboxState
        let createdAt: Int64
        let session: String
        let owner: String?
        let bytes: Int
    }

    private var open: [String: Open] = [:]
    private var counts = OutboxCounts()
    /// The room that each sender's messages take.
    private var rooms: [String: OutboxRoom] = [:]
    /// The creation time of the oldest waiting entry; nil after that entry has ended, until the next one is looked up.
    private var oldest: Int64?

    /// - Returns: the state in which the entry was counted before; nil for a new entry.
    @discardableResult
    mutating func note(_ entry: OutboxEntry) -> OutboxState? {
        let before = open[entry.id]
        if let before {
            counts.count(before.state, -1)
            if before.createdAt == oldest { oldest = nil }
            count(before, -1)
        }
        guard !entry.state.hasEndedForGood else {
            open[entry.id] = nil
            return before?.state
        }
        let now = Open(
            state: entry.state,
            createdAt: entry.createdAt.milliseconds,
            session: entry.session,
            owner: entry.kind.startsRun ? entry.owner : nil,
            bytes: entry.payloadBytes
        )
        open[entry.id] = now
        count(now, 1)
        counts.count(now.state, 1)
        if let oldest, Self.waits(now.state) { self.oldest = min(oldest, now.createdAt) }
        return before?.state
    }

    private mutating func count(_ entry: Open, _ change: Int) {
        guard let owner = entry.owner else { return }
        rooms[owner, default: OutboxRoom()].add(OutboxRoom(entries: change, bytes: change * entry.bytes))
        if rooms[owner]?.entries == 0 { rooms[owner] = nil }
    }

    func room(of owner: String) -> OutboxRoom { rooms[owner] ?? OutboxRoom() }

    mutating func summary(now: Timestamp) -> OutboxSummary {
        var summary = OutboxSummary()
        summary.counts = counts
        guard counts.pending + counts.unconfirmed > 0 else { return summary }
        if oldest == nil { oldest = open.values.lazy.filter { Self.waits($0.state) }.map(\.createdAt).min() }
        summary.oldestAgeMilliseconds = oldest.map { max(0, now.milliseconds - $0) }
        return summary
    }

    /// The summary of some sessions. Few callers ask for it, so the entries are counted each time.
    func summary(of sessions: SessionSet, now: Timestamp) -> OutboxSummary {
        var summary = OutboxSummary()
        var oldest = Int64.max
        for entry in open.values where sessions.contains(entry.session) {
            summary.counts.count(entry.state, 1)
            if Self.waits(entry.state) { oldest = min(oldest, entry.createdAt) }
        }
        if oldest < .max { summary.oldestAgeMilliseconds = max(0, now.milliseconds - oldest) }
        return summary
    }

    /// The number of waiting entries in such sessions.
    func waiting(of sessions: SessionSet?, in isMeant: (String) -> Bool) -> Int {
        open.values.count { entry in
            [.queued, .retrying].contains(entry.state) && isMeant(entry.session)
                && sessions?.contains(entry.session) ?? true
        }
    }

    func oldestTroubled(of sessions: SessionSet?) -> String? {
        guard counts.failed + counts.unconfirmed > 0 else { return nil }
        let troubled = open.lazy.filter { $0.value.state.hasEnded || $0.value.state == .unconfirmed }
            .filter { sessions?.contains($0.value.session) ?? true }
        return troubled.min { ($0.value.createdAt, $0.key) < ($1.value.createdAt, $1.key) }?.key
    }

    /// The sessions of the waiting entries, the one with the newest entry first.
    var sessions: [SessionKey] {
        let newest = Dictionary(
            open.values.filter { Self.waits($0.state) }.map { ($0.session, $0.createdAt) },
            uniquingKeysWith: max
        )
        return newest.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { SessionKey(canonical: $0.key) }
    }

    private static func waits(_ state: OutboxState) -> Bool { !state.hasEnded }
}
