import Basics
import POSIX

/// The progress of a database, kept outside it.
protocol WitnessRecord: Equatable, Sendable {
    static var fileName: String { get }
    /// The name of the form of `words`.
    static var version: String { get }
    /// None has a blank.
    var words: [String] { get }
    init?(words: [String])
}

extension WitnessRecord {
    /// - Parameter turn: must be higher than in the previous record.
    func line(turn: UInt64) -> [UInt8] {
        let words = ([Self.version, "\(turn)"] + words).joined(separator: " ")
        return Array("\(words) \(FNV1a.name(words.utf8))\n".utf8)
    }

    /// Nil for an incomplete line.
    static func parse(line bytes: some Sequence<UInt8>) -> (turn: UInt64, record: Self)? {
        let text = String(decoding: bytes.prefix { $0 != 0x0a }, as: UTF8.self)
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count > 3, words[0] == version,
            words.last == FNV1a.name(words.dropLast().joined(separator: " ").utf8),
            let turn = UInt64(words[1]), let record = Self(words: Array(words[2...].dropLast()))
        else { return nil }
        return (turn, record)
    }
}

/// `ladle.witness`, beside the database. SQLite takes a damaged log for one that ends at the damage; this file shows
/// the difference. So does `server.witness` for a database on a server.
///
/// The record is written after each commit and before its answers, so it is never ahead of the database: a kill or a
/// power cut at any point raises no false alarm. It is synced within a second, separately from the commits: a sync in
/// each commit would double the time of an answer. So after a power cut it may lack the last second, after a kill
/// nothing.
final class WitnessFile<Record: WitnessRecord> {
    /// Two records, written in turn, each in its own block: a torn write damages only one.
    private static var blockBytes: Int { 4_096 }

    private let file: OpenFile
    private var turn: UInt64
    private var last: Record

    /// The newest complete record; nil without one. A database of an earlier version has none.
    static func read(in directory: String) -> Record? { records(in: directory).newest?.record }

    private static func records(in directory: String) -> (newest: (turn: UInt64, record: Record)?, isWhole: Bool) {
        guard let contents = try? FileSystem.read("\(directory)/\(Record.fileName)", limit: 2 * blockBytes) else {
            return (nil, false)
        }
        let records = [0, blockBytes].compactMap { Record.parse(line: contents.bytes.dropFirst($0)) }
        return (records.max { $0.turn < $1.turn }, contents.bytes.count == 2 * blockBytes)
    }

    /// Starts from the current state of the database.
    init(in directory: String, _ now: Record) throws(SystemError) {
        let path = "\(directory)/\(Record.fileName)"
        let (newest, isWhole) = Self.records(in: directory)
        turn = newest?.turn ?? 0
        last = now
        if newest == nil || !isWhole {
            turn += 1
            let blank = [UInt8](repeating: 0, count: 2 * Self.blockBytes)
            try PrivateFile(path).replace(with: Self.filled(blank, now.line(turn: turn), turn: turn))
        }
        file = try OpenFile.updating(path)
        if let newest, isWhole, newest.record != now { try write(now) }
        try file.synchronise()
    }

    /// - Returns: whether a new record was written.
    func record(_ now: Record) -> Bool {
        guard now != last else { return false }
        // If the disk fails, the previous record remains, which is still true.
        return (try? write(now)) != nil
    }

    func synchronise() { try? file.synchronise() }

    /// Syncs the file; safe to call on another queue.
    var synchronisation: @Sendable () -> Void {
        { [file] in try? file.synchronise() }
    }

    private func write(_ now: Record) throws(SystemError) {
        turn += 1
        try file.write(now.line(turn: turn), at: Self.place(of: turn))
        last = now
    }

    private static func place(of turn: UInt64) -> Int { turn.isMultiple(of: 2) ? 0 : blockBytes }

    private static func filled(_ blank: [UInt8], _ line: [UInt8], turn: UInt64) -> [UInt8] {
        var bytes = blank
        bytes.replaceSubrange(place(of: turn)..<(place(of: turn) + line.count), with: line)
        return bytes
    }
}
