import Basics
package import Outbox
import POSIX
import SQL
import SQLite

/// The entries of a set-aside database, and whether they were restored.
package struct RecoveryReport: Sendable, Equatable {
    package var path: String
    package var reason: String
    /// The readable entries that were not final.
    package var entries: [OutboxEntry] = []
    /// The reason why reading stopped early; nil if everything was read.
    package var unreadable: String?
    /// The entries restored to the outbox.
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

extension OutboxEntry {
    /// Treats the entry as possibly sent, because the file does not show whether it was: the next start asks the
    /// gateway before sending it again.
    fileprivate mutating func doubt() {
        guard state == .queued || state == .retrying else { return }
        state = .sending
        firstDispatchAt = firstDispatchAt ?? createdAt
    }
}

/// The parts of a write-ahead log that are read here (sqlite.org/fileformat2.html §4.1).
struct WriteAheadLog {
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The first page of the database, with its header; nil if the log does not hold it.
    var firstPage: [UInt8]? {
        guard bytes.count > Self.headerBytes else { return nil }
        let pageBytes = number(at: 8)
        guard (512...65_536).contains(pageBytes) else { return nil }
        var frame = Self.headerBytes
        while frame + Self.frameHeaderBytes + pageBytes <= bytes.count {
            let page = frame + Self.frameHeaderBytes
            if number(at: frame) == 1 { return Array(bytes[page..<(page + pageBytes)]) }
            frame = page + pageBytes
        }
        return nil
    }

    private func number(at place: Int) -> Int { bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }
}

/// Reads as much as possible of a damaged or newer file.
struct Salvage {
    struct Item: Sendable {
        var entry: OutboxEntry
        var payload: OutboxTable.Payload
        var attempts: [OutboxAttempt]
    }

    let path: String

    /// Whether the file lacks entries that its witness counted. A witness exists only if the state directory had one
    /// when the file was set aside.
    private func isBehindWitness(_ connection: SQLiteConnection) -> Bool {
        guard let witness = WitnessFile<Witness>.read(in: path) else { return false }
        guard let found = try? Witness(of: connection) else { return true }
        return witness.loss(in: found) != nil
    }

    func report(reason: String) -> (report: RecoveryReport, items: [Item]) {
        var report = RecoveryReport(path: path, reason: reason)
        var found: [String: Item] = [:]
        var isBehind = false
        do throws(SQLError) {
            try rebuildFromLog()
            let connection = try SQLiteConnection(path: "\(path)/\(SetAsideFiles.databaseName)", access: .readWrite)
            try connection.execute(OutboxSchema.readableView)
            isBehind = isBehindWitness(connection)
            // A damaged page stops a walk; from the other end the rows beyond it can be reached.
            let forward = walk(connection, descending: false, into: &found)
            let backward = forward == nil ? nil : walk(connection, descending: true, into: &found)
            report.unreadable = forward.map {
                $0.summary + (backward.map { "; from the end: \($0.summary)" } ?? "")
            }
        } catch {
            report.unreadable = error.summary
        }
        var items = found.values.sorted { $0.entry.ordinal < $1.entry.ordinal }
        if isBehind { for place in items.indices { items[place].entry.doubt() } }
        report.entries = items.map { item in
            var entry = item.entry
            entry.text = item.payload.text
            return entry
        }
        return (report, items)
    }

    /// Rebuilds a missing or empty database from the first page in its log, because SQLite would delete the log of an
    /// empty one. SQLite then finds the other pages in the log.
    private func rebuildFromLog() throws(SQLError) {
        let database = "\(path)/\(SetAsideFiles.databaseName)"
        guard ((try? FileSystem.facts(database))?.size ?? 0) == 0 else { return }
        guard let log = try? FileSystem.read(database + "-wal", limit: Self.longestLog), log.isWhole,
            let page = WriteAheadLog(log.bytes).firstPage, (try? PrivateFile(database).replace(with: page)) != nil
        else { throw .malformed("there is no database, and its log does not begin one") }
    }

    /// Far larger than checkpoints let a log grow.
    private static let longestLog = 512 << 20

    /// Returns the error that ended the walk, if any.
    private func walk(_ connection: SQLiteConnection, descending: Bool, into found: inout [String: Item])
        -> SQLError?
    {
        let table = OutboxTable(SQLConnection(connection))
        var place: Int64?
        do throws(SQLError) {
            while let entry = try table.next(after: place, descending: descending) {
                place = entry.ordinal
                guard !entry.state.hasEndedForGood, found[entry.id] == nil,
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
