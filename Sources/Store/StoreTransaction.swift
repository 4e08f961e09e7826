package import Basics
import EventStream
import JSONBytes
package import Outbox
package import SQL

/// The result of accepting a message.
package enum Enqueuing: Sendable, Equatable {
    case accepted(OutboxEntry)
    /// The same request came before; its entry in its current state.
    case replayed(OutboxEntry)
    /// The key belongs to a request with another body.
    case keyReused
    case full(OutboxFullness)
    /// The request could only repeat an earlier one, and there was none.
    case unknown
}

/// The result of changing an entry.
package enum ChangeResult: Sendable, Equatable {
    case applied
    /// The row has another version by now, or was deleted.
    case moved(current: OutboxEntry?)
}

/// The tables and the event log inside one operation, which becomes durable as a whole or not at all.
package struct StoreTransaction {
    /// The longest text in `outbox` events; longer texts are only in the entry.
    static let longestTextInEvent = 4_096

    let connection: SQLConnection
    package let now: Timestamp
    let epoch: EventEpoch
    let outboxRefusal: StoreError?
    private(set) var lastSequence: Int64
    package private(set) var appended: [StoredEvent] = []

    init(
        connection: SQLConnection,
        now: Timestamp,
        epoch: EventEpoch,
        lastSequence: Int64,
        outboxRefusal: StoreError?
    ) {
        self.connection = connection
        self.now = now
        self.epoch = epoch
        self.lastSequence = lastSequence
        self.outboxRefusal = outboxRefusal
    }

    package var runs: RunTable { RunTable(connection) }
    package var messages: MessageTable { MessageTable(connection) }
    package var said: SaidTable { SaidTable(connection, sequence: lastSequence + 1) }
    package var approvals: ApprovalTable { ApprovalTable(connection) }
    package var notifications: NotificationTable { NotificationTable(connection) }
    package var values: ValueTable { ValueTable(connection) }
    package var outbox: OutboxTable { OutboxTable(connection) }
    package var receipts: ReceiptTable { ReceiptTable(connection) }
    package var tokens: TokenTable { TokenTable(connection) }

    /// Logs an event. It is published, in order, once the transaction is on disk.
    @discardableResult
    package mutating func append(_ draft: EventDraft) throws(SQLError) -> StoredEvent {
        let id = EventID(epoch: epoch, sequence: lastSequence + 1)
        let event = try EventTable(connection).append(draft, id: id)
        lastSequence = id.sequence
        appended.append(event)
        return event
    }

    // MARK: The outbox

    /// Accepts a command: its entry, its event and the receipt of its key together. `isReplayOnly`: only a repeat of an
    /// accepted request is answered; a new one is refused.
    package mutating func enqueue(
        _ entry: OutboxEntry,
        payload: OutboxTable.Payload,
        claim: ReceiptTable.Claim? = nil,
        isReplayOnly: Bool = false,
        limits: OutboxLimits = OutboxLimits()
    ) throws -> Enqueuing {
        if let outboxRefusal { throw outboxRefusal }
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

    /// Writes a change by the dispatcher, with its attempt and its event.
    package mutating func apply(_ change: OutboxChange) throws -> ChangeResult {
        guard try outbox.apply(change) else {
            return .moved(current: try outbox.entry(id: change.entry.id))
        }
        var entry = change.entry
        entry.text = try connection.first(
            "SELECT text FROM outbox_payload WHERE ordinal = ? AND \(connection.bytes(of: "text")) <= ?",
            entry.ordinal,
            Self.longestTextInEvent
        ) { row in row.string(0) }
        try announce(entry)
        KillPoint.reach("\(entry.state.rawValue).write")
        return .applied
    }

    /// Writes the `outbox` event of an entry's current state.
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
                matter: shown,
                body: writer.bytes
            )
        )
    }
}

extension OutboxEntry: EventMatter {}
