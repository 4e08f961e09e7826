import Basics
import JSONBytes
package import Outbox
import SQLite

/// What a send came to.
package enum Enqueuing: Sendable, Equatable {
    case accepted(OutboxEntry)
    /// The same request came before; this is its entry as it stands now.
    case replayed(OutboxEntry)
    /// The key belongs to a request with another body.
    case keyReused
    case full(OutboxTable.Fullness)
    /// Only a request that came before would have been answered, and none did.
    case unknown
}

/// What a change of an entry came to.
package enum ChangeResult: Sendable, Equatable {
    case applied
    /// The row has another version by now, or is gone.
    case moved(current: OutboxEntry?)
}

extension StoreTransaction {
    /// Texts up to this many bytes are in `outbox` events; longer ones are in the entry only.
    package static let longestTextInEvent = 4_096

    /// Takes a command in: its entry, its event and the receipt of its key in one. `isReplayOnly`: it would be refused if it
    /// had not been taken in before.
    package mutating func enqueue(
        _ entry: OutboxEntry,
        payload: OutboxTable.Payload,
        claim: ReceiptTable.Claim? = nil,
        isReplayOnly: Bool = false,
        limits: OutboxTable.Limits = OutboxTable.Limits()
    ) throws -> Enqueuing {
        if let outboxRefusal { throw StoreError.outboxClosed(outboxRefusal) }
        if let claim {
            switch try receipts.find(claim, now: now) {
            case .free:
                break
            case .same(let id):
                if let known = try outbox.entry(id: id) { return .replayed(known) }
            case .other:
                return .keyReused
            }
        }
        if isReplayOnly { return .unknown }
        switch try outbox.insert(entry, payload: payload, limits: limits) {
        case .full(let what):
            return .full(what)
        case .inserted(let inserted):
            if let claim { try receipts.record(claim, entry: inserted.id, now: now) }
            try announce(inserted)
            KillPoint.reach("enqueue.write")
            return .accepted(inserted)
        }
    }

    /// Writes a change of the dispatcher's together with its attempt and its event.
    package mutating func apply(_ change: OutboxChange) throws -> ChangeResult {
        guard try outbox.apply(change) else {
            return .moved(current: try outbox.entry(id: change.entry.id))
        }
        var entry = change.entry
        entry.text = try connection.first(
            "SELECT text FROM outbox_payload WHERE ordinal = ? AND length(CAST(text AS BLOB)) <= ?",
            entry.ordinal,
            Self.longestTextInEvent
        ) { row in row.string(0) }
        try announce(entry)
        KillPoint.reach("\(entry.state.rawValue).write")
        return .applied
    }

    /// The `outbox` event of an entry as it is now.
    mutating func announce(_ entry: OutboxEntry) throws {
        var shown = entry
        if let text = shown.text, text.utf8.count > Self.longestTextInEvent { shown.text = nil }
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("type", "outbox")
            writer.member("at", shown.updatedAt)
            writer.member("session", shown.session)
            writer.member("runId", shown.runID)
            writer.member("entry", shown)
        }
        try append(
            EventDraft(
                type: "outbox",
                at: shown.updatedAt,
                session: shown.session,
                run: shown.runID,
                body: writer.bytes
            )
        )
    }
}
