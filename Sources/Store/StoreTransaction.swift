package import Basics
import EventStream
import JSONBytes
import Outbox
package import SQLite

/// What an operation works with. All of one operation becomes durable, or nothing of it.
package struct StoreTransaction {
    package let connection: SQLiteConnection
    package let now: Timestamp
    let epoch: EventEpoch
    let outboxRefusal: String?
    private(set) var lastSequence: Int64
    private(set) var appended: [StoredEvent] = []

    init(
        connection: SQLiteConnection,
        now: Timestamp,
        epoch: EventEpoch,
        lastSequence: Int64,
        outboxRefusal: String?
    ) {
        self.connection = connection
        self.now = now
        self.epoch = epoch
        self.lastSequence = lastSequence
        self.outboxRefusal = outboxRefusal
    }

    package var runs: RunTable { RunTable(connection) }
    package var messages: MessageTable { MessageTable(connection) }
    package var values: ValueTable { ValueTable(connection) }
    package var outbox: OutboxTable { OutboxTable(connection) }
    package var receipts: ReceiptTable { ReceiptTable(connection) }
    package var tokens: TokenTable { TokenTable(connection) }

    /// Logs an event. It is published, in order, once the transaction is on disk.
    @discardableResult
    package mutating func append(_ draft: EventDraft) throws(SQLiteError) -> StoredEvent {
        let id = EventID(epoch: epoch, sequence: lastSequence + 1)
        let event = try EventTable(connection).append(draft, id: id)
        lastSequence = id.sequence
        appended.append(event)
        return event
    }
}
