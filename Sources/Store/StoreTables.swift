import SQL
package import SQLite

/// The tables of `ladle.db` on one connection. Their queries are the only SQL outside this layer's own maintenance.
package struct StoreTables {
    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    /// The steps that make the tables in a file.
    package static let migrations = DatabaseFile.migrations + TokenTable.migrations

    package var events: EventTable { EventTable(connection) }
    package var runs: RunTable { RunTable(connection) }
    package var messages: MessageTable { MessageTable(connection) }
    package var said: SaidTable { SaidTable(connection) }
    package var approvals: ApprovalTable { ApprovalTable(connection) }
    package var notifications: NotificationTable { NotificationTable(connection) }
    package var values: ValueTable { ValueTable(connection) }
    package var outbox: OutboxTable { OutboxTable(connection) }
    package var receipts: ReceiptTable { ReceiptTable(connection) }
    package var tokens: TokenTable { TokenTable(connection) }
}
