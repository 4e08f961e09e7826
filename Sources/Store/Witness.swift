import Basics
import SQL
import SQLite

/// The progress of the database. Each number only rises, so a database with a lower one has lost data.
struct Witness: WitnessRecord {
    static let fileName = "ladle.witness"
    static let version = "ladle-witness-1"

    /// The epoch of the event log.
    var epoch: String
    /// The number of the newest event. Each change of an entry is an event too.
    var event: Int64
    /// The number of the newest entry in the outbox.
    var entry: Int64
    /// The number of token changes: a revoked token must not come back unnoticed.
    var tokenChanges: Int64
    /// The number of unfinished entries; it rises and falls, and is only reported.
    var waiting: Int64

    /// The state of a database; nil if tables are missing, as after the beginning of its log was lost.
    init?(of connection: SQLiteConnection) throws(SQLError) {
        let tables = try connection.first(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('event_log', 'event', 'value', 'outbox', 'outbox_total')"
        ) { row in row.int(0) }
        guard tables == 5,
            let epoch = try connection.first("SELECT epoch FROM event_log", row: { row in row.string(0) })
        else { return nil }
        self.epoch = epoch
        (event, entry, tokenChanges, waiting) =
            try connection.first(
                """
                SELECT (SELECT max(seq) FROM event), (SELECT max(ordinal) FROM outbox),
                (SELECT CAST(bytes AS INTEGER) FROM value WHERE space = 'store' AND name = 'tokenChanges'),
                (SELECT sum(entries) FROM outbox_total WHERE session = '' AND state NOT IN ('delivered', 'cancelled'))
                """
            ) { row in (row.int64(0), row.int64(1), row.int64(2), row.int64(3)) } ?? (0, 0, 0, 0)
    }

    /// A description of the parts missing from a database in this state; nil if none is.
    func loss(in found: Witness?) -> String? {
        // Numbers of another log cannot be compared: somebody put another database in its place.
        if let found, found.epoch != epoch { return nil }
        let parts = [
            Self.part(entry - (found?.entry ?? 0), "accepted message"),
            Self.part(event - (found?.event ?? 0), "event"),
            Self.part(tokenChanges - (found?.tokenChanges ?? 0), "change of tokens", "changes of tokens"),
        ].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func part(_ count: Int64, _ one: String, _ many: String? = nil) -> String? {
        guard count > 0 else { return nil }
        return count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
    }

    // MARK: As words

    var words: [String] { [epoch] + [event, entry, tokenChanges, waiting].map(String.init) }

    init?(words: [String]) {
        guard words.count == 5, let event = Int64(words[1]), let entry = Int64(words[2]),
            let tokenChanges = Int64(words[3]), let waiting = Int64(words[4])
        else { return nil }
        self.init(epoch: words[0], event: event, entry: entry, tokenChanges: tokenChanges, waiting: waiting)
    }

    private init(epoch: String, event: Int64, entry: Int64, tokenChanges: Int64, waiting: Int64) {
        self.epoch = epoch
        self.event = event
        self.entry = entry
        self.tokenChanges = tokenChanges
        self.waiting = waiting
    }
}
