package import Basics
package import EventStream
import JSONBytes
package import SQL
import SQLite

/// The durable events, appended inside a transaction of the store and read on any connection.
///
/// Sequence numbers rise strictly and are never reused: the newest row is never deleted, so the next number is always
/// one above it.
package struct EventTable {
    /// The most rows examined for one page, so that a filter without matches still works in bounded steps.
    static let scanWindow: Int64 = 2_000

    package struct Page: Sendable {
        package var events: [StoredEvent]
        /// The start of the next page: the last examined position, which may lie past the last returned event.
        package var next: EventID
        /// True if the log has nothing after `next`.
        package var isEnd: Bool
    }

    /// SQLite does not see a bit that changed on the disk, and `data` goes to clients as it is.
    static let checksum = Migration(module: "event_sum", version: 1, script: "ALTER TABLE event ADD COLUMN sum INTEGER")

    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    // MARK: The log itself

    package func epoch() throws(SQLError) -> EventEpoch {
        let text = try connection.first("SELECT epoch FROM event_log") { row in row.string(0) }
        guard let epoch = text.flatMap({ EventEpoch($0) }) else { throw .malformed("the event log has no epoch") }
        return epoch
    }

    /// Names a new log; an existing name stays.
    package func createLog(epoch: EventEpoch, at: Timestamp) throws(SQLError) {
        try connection.run(
            "INSERT INTO event_log(\"only\", epoch, created_at) VALUES(1, ?, ?) ON CONFLICT(\"only\") DO NOTHING",
            epoch.text,
            at.milliseconds
        )
    }

    package func bounds() throws(SQLError) -> EventLogBounds {
        let epoch = try epoch()
        let ends = try connection.first("SELECT (SELECT min(seq) FROM event), (SELECT max(seq) FROM event)") { row in
            (row.optionalInt64(0), row.optionalInt64(1))
        }
        return EventLogBounds(
            oldest: ends?.0.map { EventID(epoch: epoch, sequence: $0) },
            newest: EventID(epoch: epoch, sequence: ends?.1 ?? 0)
        )
    }

    /// The earliest time among the oldest `count` events: a single one may have been dated by a wrong clock.
    func oldestTime(among count: Int) throws(SQLError) -> Timestamp? {
        try connection.first("SELECT min(at) FROM (SELECT at FROM event ORDER BY seq LIMIT ?) AS oldest", count) {
            row in
            row.optionalInt64(0).map { Timestamp(milliseconds: $0) }
        } ?? nil
    }

    /// The runs of which the newest events told that they ended, the last end first.
    package func endedRuns(limit: Int) throws(SQLError) -> [String] {
        try connection.all(
            "SELECT run FROM event WHERE seq > (SELECT max(seq) FROM event) - ? AND type = 'run.ended' AND run IS NOT NULL "
                + "ORDER BY seq DESC LIMIT ?",
            Self.scanWindow,
            limit
        ) { row in row.string(0) }
    }

    // MARK: Appending

    package func append(_ draft: EventDraft, id: EventID) throws(SQLError) -> StoredEvent {
        let event = StoredEvent(
            id: id,
            type: draft.type,
            at: draft.at,
            session: draft.session,
            run: draft.run,
            data: draft.bytes(id: id),
            matter: draft.matter
        )
        try connection.run(
            "INSERT INTO event(seq, at, type, session, run, data, sum) VALUES(?, ?, ?, ?, ?, ?, ?)",
            id.sequence,
            event.at.milliseconds,
            event.type,
            event.session,
            event.run,
            event.data,
            Self.sum(of: event)
        )
        return event
    }

    private static func sum(of event: StoredEvent) -> Int64 {
        let place = [event.type, event.session ?? "", event.run ?? "", "\(event.id.sequence) \(event.at.milliseconds)"]
        let hash = FNV1a.hash(place.joined(separator: "\n").utf8)
        return Int64(bitPattern: FNV1a.hash(event.data, after: hash))
    }

    /// Rows of a version before have no checksum, and are whole as far as they are JSON.
    private static func isWhole(_ event: StoredEvent, sum: Int64?) -> Bool {
        guard let sum else { return (try? JSONDocument(parsing: event.data)) != nil }
        return sum == self.sum(of: event)
    }

    // MARK: Reading

    /// The result of reading after a cursor.
    package enum Reading: Sendable {
        case page(Page)
        /// The cursor is not in this log, or no longer: retention can overtake a slow reader.
        case outside(EventLogBounds)
    }

    package func read(
        after cursor: EventID,
        filter: EventFilter,
        limit: Int,
        bytes: Int
    ) throws(SQLError) -> Reading {
        let bounds = try bounds()
        guard case .recovered = bounds.resume(from: cursor) else { return .outside(bounds) }
        return .page(try page(after: cursor, filter: filter, limit: limit, bytes: bytes))
    }

    /// Events after `cursor`, oldest first: at most `limit` events and about `bytes` bytes.
    package func page(
        after cursor: EventID,
        filter: EventFilter = .everything,
        limit: Int = 500,
        bytes: Int = 1 << 20
    ) throws(SQLError) -> Page {
        let end = cursor.sequence &+ Self.scanWindow
        var page = Page(events: [], next: cursor, isEnd: false)
        var size = 0
        var looked = false
        try connection.scan(
            "SELECT seq, at, type, session, run, data, sum FROM event WHERE seq > ? AND seq <= ? ORDER BY seq",
            cursor.sequence,
            end
        ) { row in
            looked = true
            page.next.sequence = row.int64(0)
            let type = row.string(2)
            let session = row.optionalString(3)
            let run = row.optionalString(4)
            guard filter.admits(type: type, session: session, run: run) else { return true }
            var event = StoredEvent(
                id: page.next,
                type: type,
                at: Timestamp(milliseconds: row.int64(1)),
                session: session,
                run: run,
                data: row.bytes(5)
            )
            if !Self.isWhole(event, sum: row.optionalInt64(6)) { (event.isDamaged, event.data) = (true, []) }
            size += event.data.count
            page.events.append(event)
            return page.events.count < limit && size < bytes
        }
        let newest = try connection.first("SELECT max(seq) FROM event") { row in row.int64(0) } ?? 0
        // A range without rows is a gap, as earlier releases left them.
        if !looked { page.next.sequence = min(end, max(newest, cursor.sequence)) }
        page.isEnd = page.next.sequence >= newest
        return page
    }

    /// The time of the newest event; nil for a new log.
    package func newestTime() throws(SQLError) -> Timestamp? {
        try connection.first("SELECT at FROM event ORDER BY seq DESC LIMIT 1") { row in
            Timestamp(milliseconds: row.int64(0))
        }
    }

    /// The time of the first event with this number or a higher one.
    package func time(from sequence: Int64) throws(SQLError) -> Timestamp? {
        try connection.first("SELECT at FROM event WHERE seq >= ? ORDER BY seq LIMIT 1", sequence) { row in
            Timestamp(milliseconds: row.int64(0))
        }
    }

    /// Sessions with events of this number or higher ones, the one with the newest event first.
    package func sessions(from sequence: Int64, limit: Int) throws(SQLError) -> [SessionKey] {
        try connection.all(
            "SELECT session FROM event_session WHERE seq >= ? ORDER BY seq DESC LIMIT ?",
            sequence,
            limit
        ) { row in SessionKey(canonical: row.string(0)) }
    }

    // MARK: Retention

    /// Deletes at most `slice` of the oldest events beyond the limits, and returns the number. Call again while it
    /// equals `slice`. The remaining log has no gaps: an event that a wrong clock dated into the future keeps the later
    /// ones, until they are too many.
    package func prune(keeping count: Int, notBefore: Timestamp, slice: Int) throws(SQLError) -> Int {
        let ends = try bounds()
        guard let oldest = ends.oldest else { return 0 }
        let surplus = ends.newest.sequence - Int64(count)
        // Never the newest row: the sequence continues from it.
        let last = min(oldest.sequence + Int64(slice) - 1, ends.newest.sequence - 1)
        guard last >= oldest.sequence else { return 0 }
        let kept = try connection.first(
            "SELECT seq FROM event WHERE seq > ?1 AND seq <= ?2 AND at >= ?3 ORDER BY seq LIMIT 1",
            surplus,
            last,
            notBefore.milliseconds
        ) { row in row.int64(0) }
        try connection.run("DELETE FROM event_session WHERE seq < ?", kept ?? last + 1)
        try connection.run("DELETE FROM event WHERE seq < ?", kept ?? last + 1)
        return try connection.changes()
    }
}
