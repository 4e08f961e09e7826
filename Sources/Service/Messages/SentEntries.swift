import Basics
import Gateway
import Outbox
import Runs
import Store

/// Entries of a session that may stand in its transcript.
struct SentEntries: Sendable {
    /// The newest ones that are looked at for their words; older ones are found by their keys.
    private static let most = 200
    /// The gateway's clock and ours may differ this much.
    private static let tolerance: Int64 = 10_000
    /// A row is written when the gateway gets to it.
    private static let lag: Int64 = 600_000

    /// Newest first.
    private(set) var entries: [OutboxEntry] = []
    private var files: [String: [AttachedFile]] = [:]
    /// Keys of our form without an entry: it was deleted in time, or is another Ladle's.
    private var foreign: [String] = []

    /// - Parameter keys: idempotency keys that the transcript shows.
    static func read(_ tables: StoreTables, session: String, keys: [String] = []) throws -> SentEntries {
        var query = OutboxTable.Query()
        query.session = session
        query.limit = most
        var found = SentEntries()
        found.entries = try tables.outbox.list(query)
        found.files = try tables.outbox.files(session: session, limit: most)
        var known = Set(found.entries.map(\.id))
        for key in keys {
            let id = OutboxEntry.entryID(ofKey: key)
            guard UUIDv7.isWellFormed(id), known.insert(id).inserted else { continue }
            if let entry = try tables.outbox.entry(id: id), entry.session == session {
                found.entries.append(entry)
            } else {
                found.foreign.append(key)
            }
        }
        return found
    }

    static func keys(of rows: [HistoryRow]) -> [String] { rows.compactMap { $0.role == .user ? $0.runKey : nil } }

    func attachments(of id: String) -> [MessageAttachment] { Self.attachments(files[id] ?? []) }

    static func attachments(_ files: [AttachedFile]) -> [MessageAttachment] {
        files.map { MessageAttachment(name: $0.name, mimeType: $0.mimeType, bytes: $0.bytes) }
    }

    /// - Parameters:
    ///   - rows: the rows in which messages were found before, by entry.
    ///   - clockSkewMs: how far the gateway's clock is ahead of ours.
    func messages(rows: RecentValues<String>, clockSkewMs: Int64) -> [SentMessage] {
        let own = entries.reversed().compactMap { entry -> SentMessage? in
            guard entry.kind == .message else { return nil }
            return SentMessage(
                id: entry.id,
                keys: [entry.upstreamKey] + (entry.runID.map { [$0] } ?? []),
                text: entry.text,
                attachments: attachments(of: entry.id),
                written: Self.written(entry, clockSkewMs),
                row: rows[entry.id]
            )
        }
        return foreign.map { key in
            SentMessage(id: OutboxEntry.entryID(ofKey: key), keys: [OutboxEntry.bareKey(key)], text: nil, isKept: false)
        } + own
    }

    /// When the gateway can have written the entry's row, by its own clock; nil where it was not sent, or in vain.
    private static func written(_ entry: OutboxEntry, _ clockSkewMs: Int64) -> ClosedRange<Timestamp>? {
        let start: Timestamp
        var end = Timestamp(milliseconds: .max)
        switch entry.state {
        case .delivered:
            start = entry.firstDispatchAt ?? entry.createdAt
            end = max(start, entry.updatedAt).adding(milliseconds: clockSkewMs + lag)
        case .sending, .accepted, .unconfirmed:
            guard let sent = entry.firstDispatchAt else { return nil }
            start = sent
        case .queued, .retrying, .failed, .cancelled, .expired: return nil
        }
        return min(start.adding(milliseconds: clockSkewMs - tolerance), end)...end
    }
}
