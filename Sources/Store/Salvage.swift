import Basics
package import Outbox
import SQLite

/// The entries of a database that was set aside, and whether they were taken over.
package struct RecoveryReport: Sendable, Equatable {
    package var path: String
    package var reason: String
    /// Entries that were not final, as far as they could be read.
    package var entries: [OutboxEntry] = []
    /// Why reading stopped before the end; nil when everything was read.
    package var unreadable: String?
    /// The entries that are in the outbox again.
    package var restored: [OutboxEntry] = []
}

extension StoreTransaction {
    mutating func restore(_ items: [Salvage.Item]) throws -> [OutboxEntry] {
        var restored: [OutboxEntry] = []
        for item in items {
            guard try outbox.restore(item.entry, payload: item.payload, attempts: item.attempts),
                let entry = try outbox.entry(id: item.entry.id)
            else { continue }
            try announce(entry)
            restored.append(entry)
        }
        return restored
    }
}

/// Reads what it can of a damaged or newer file.
struct Salvage {
    struct Item: Sendable {
        var entry: OutboxEntry
        var payload: OutboxTable.Payload
        var attempts: [OutboxAttempt]
    }

    let path: String

    func report(reason: String) -> (report: RecoveryReport, items: [Item]) {
        var report = RecoveryReport(path: path, reason: reason)
        var found: [String: Item] = [:]
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: "\(path)/\(SetAsideFiles.databaseName)", access: .readWrite)
            try connection.execute(OutboxSchema.readableView)
            // A damaged page stops a walk; from the other end what lies behind it can be reached.
            let forward = walk(connection, descending: false, into: &found)
            let backward = forward == nil ? nil : walk(connection, descending: true, into: &found)
            report.unreadable = forward.map { "\($0)" + (backward.map { "; from the end: \($0)" } ?? "") }
        } catch {
            report.unreadable = "\(error)"
        }
        let items = found.values.sorted { $0.entry.ordinal < $1.entry.ordinal }
        report.entries = items.map { item in
            var entry = item.entry
            entry.text = item.payload.text
            return entry
        }
        return (report, items)
    }

    /// The error that ended the walk, if one did.
    private func walk(_ connection: SQLiteConnection, descending: Bool, into found: inout [String: Item])
        -> SQLiteError?
    {
        let table = OutboxTable(connection)
        var place: Int64?
        do throws(SQLiteError) {
            while let entry = try table.next(after: place, descending: descending) {
                place = entry.ordinal
                guard !entry.state.isFinal, found[entry.id] == nil,
                    let payload = try? table.payload(id: entry.id)
                else { continue }
                found[entry.id] = Item(
                    entry: entry,
                    payload: payload,
                    attempts: (try? table.attempts(id: entry.id)) ?? []
                )
            }
            return nil
        } catch {
            return error
        }
    }
}
