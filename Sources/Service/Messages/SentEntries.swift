import Basics
import Gateway
import Ledger
import Outbox
import Runs
import Store

/// Entries of a session that may appear in its transcript.
struct SentEntries: Sendable {
    /// The newest entries matched by their texts; older ones are matched only by their keys.
    private static let most = 200

    /// The entries, newest first.
    private(set) var entries: [OutboxEntry] = []
    /// Delivered messages of which the gateway may have no row: their run was stopped or failed, and the gateway took the row out of the
    /// conversation; or they have no words, and the gateway answered them without a row.
    private(set) var rowless: Set<String> = []
    /// When the runs of delivered messages completed, by entry.
    private var completedAt: [String: Timestamp] = [:]
    private var files: [String: [AttachedFile]] = [:]
    /// Keys in our format without an entry: it was deleted by retention, or belongs to another Ladle.
    private var foreign: [String] = []

    /// - Parameter keys: idempotency keys found in the transcript.
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
            if let entry = try tables.outbox.entry(id: id), entry.session.isSameText(as: session) {
                found.entries.append(entry)
            } else {
                found.foreign.append(key)
            }
        }
        return found
    }

    /// Reads what became of the messages' runs; only lists need to know.
    mutating func readOutcomes(_ tables: StoreTables) throws {
        for entry in entries where entry.kind == .message && entry.state == .delivered {
            let outcome = try tables.runs.outcome(id: entry.run)
            let hasWords = entry.text.map { Words.areIn($0) } ?? true
            if [.aborted, .failed].contains(outcome?.state) || !hasWords { rowless.insert(entry.id) }
            if outcome?.state == .completed { completedAt[entry.id] = outcome?.endedAt }
        }
    }

    static func keys(of rows: [TranscriptRow]) -> [String] {
        rows.flatMap { $0.role == .user ? [$0.runKey].compactMap(\.self) + $0.joinedKeys : [] }
    }

    func attachments(of id: String) -> [MessageAttachment] { Self.attachments(files[id] ?? []) }

    static func attachments(_ files: [AttachedFile]) -> [MessageAttachment] {
        files.map { MessageAttachment(name: $0.name, mimeType: $0.mimeType, bytes: $0.bytes) }
    }

    /// - Parameters:
    ///   - rows: the rows in which messages were found before, by entry.
    ///   - readAt: when the rows came, by our clock. The entries were read later and may have been sent in between.
    ///   - clockSkewMs: the milliseconds by which the gateway's clock is ahead of ours, for entries without their own.
    func messages(rows: RecentValues<String, String>, readAt: Timestamp, clockSkewMs: Int64) -> [SentMessage] {
        let own = entries.reversed().compactMap { entry -> SentMessage? in
            guard entry.kind == .message else { return nil }
            return SentMessage(
                id: entry.id,
                keys: (entry.runID.map { [$0] } ?? []) + [entry.upstreamKey],
                text: entry.text,
                attachments: attachments(of: entry.id),
                // A run that goes on in another one has the row under its own id.
                run: rowless.contains(entry.id) && entry.run == entry.upstreamKey ? entry.run : nil,
                answeredBy: entry.toldRun,
                hasRun: entry.toldRun != nil,
                written: entry.firstDispatchAt.map { $0 < readAt } ?? true
                    ? written(entry, entry.dispatchSkewMs ?? clockSkewMs) : nil,
                waitsBehind: entry.deferral?.behind,
                sentAt: entry.firstDispatchAt?.adding(milliseconds: entry.dispatchSkewMs ?? clockSkewMs),
                row: rows[entry.id],
                isToBeSent: entry.state == .queued || entry.state == .retrying,
                failure: ChatMessage.State(entry.state) == .failed ? entry.fault?.detail : nil
            )
        }
        return foreign.map { key in
            SentMessage(id: OutboxEntry.entryID(ofKey: key), keys: [OutboxEntry.bareKey(key)], text: nil, isKept: false)
        } + own
    }

    /// The time range in which the gateway can have written the entry's row, on its own clock; nil if it was not sent,
    /// or was refused.
    private func written(_ entry: OutboxEntry, _ clockSkewMs: Int64) -> ClockWindow? {
        switch entry.state {
        case .delivered:
            let sent = (entry.firstDispatchAt ?? entry.createdAt).adding(milliseconds: clockSkewMs)
            if let end = completedAt[entry.id] { return .row(dispatchedAt: sent, completedAt: end) }
            let delivered = entry.updatedAt.adding(milliseconds: clockSkewMs)
            return .row(dispatchedAt: sent, delivered: max(sent, delivered))
        case .sending, .accepted:
            // As long as its own row may still come, an older one is another client's.
            return entry.firstDispatchAt.map { .row(sentAt: $0.adding(milliseconds: clockSkewMs)) }
        case .unconfirmed:
            return entry.firstDispatchAt.map { .row(dispatchedAt: $0.adding(milliseconds: clockSkewMs)) }
        case .queued, .retrying, .failed, .cancelled, .expired: return nil
        }
    }
}
