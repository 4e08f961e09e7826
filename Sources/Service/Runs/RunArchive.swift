package import Basics
package import EventLoops
import Gateway
package import JSONBytes
package import Outbox
package import Runs
import Store

/// A run read from the database.
package struct ArchivedRun: Sendable {
    package let id: String
    package let session: String
    package let state: String
    package let startedAt: Timestamp
    package let endedAt: Timestamp?
    /// The run as the API shows it, without its steps.
    package let summary: [UInt8]
    private let steps: [[UInt8]]

    init(_ row: StoredRun, steps: [[UInt8]]) {
        id = row.id
        session = row.session
        state = row.state
        startedAt = row.startedAt
        endedAt = row.endedAt
        summary = row.body
        self.steps = steps
    }

    package var text: String { member("text") ?? "" }
    package var error: String? { member("error") }
    package var isInterrupted: Bool { member("code") == Run.Code.interrupted.rawValue }
    package var continuedAs: String? { member("continuedAs") }

    /// Whether the gateway's process ended during the run and no other process continued it.
    var isGivenUp: Bool { isInterrupted && error == Run.givenUp }
    /// Whether the run was stopped, and the gateway is not known to have gone on with it.
    var isStopped: Bool { state == Run.State.aborted.rawValue && continuedAs == nil }

    private func member(_ name: String) -> String? {
        (try? JSONDocument(parsing: summary).root)?[name]?.string
    }

    /// The run as the API shows it; its steps are inserted before the closing brace.
    package var json: [UInt8] {
        var bytes = summary
        guard bytes.last == UInt8(ascii: "}") else { return bytes }
        bytes.removeLast()
        bytes.append(contentsOf: ",\"steps\":[".utf8)
        for (place, step) in steps.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: step)
        }
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }
}

/// A run from memory, which is the newest state, or from the database.
package enum KnownRun: JSONWritable {
    case live(Run)
    case archived(ArchivedRun)

    package var id: String {
        switch self {
        case .live(let run): run.id
        case .archived(let run): run.id
        }
    }

    package var session: String {
        switch self {
        case .live(let run): run.session.text
        case .archived(let run): run.session
        }
    }

    package var state: String {
        switch self {
        case .live(let run): run.state.rawValue
        case .archived(let run): run.state
        }
    }

    /// Whether the gateway's process ended during the run.
    package var isInterrupted: Bool {
        switch self {
        case .live(let run): run.code == .interrupted
        case .archived(let run): run.isInterrupted
        }
    }

    /// The run in which the gateway goes on with this one.
    package var continuedAs: String? {
        switch self {
        case .live(let run): run.continuedAs
        case .archived(let run): run.continuedAs
        }
    }

    package var text: String {
        switch self {
        case .live(let run): run.text
        case .archived(let run): run.text
        }
    }

    package var error: String? {
        switch self {
        case .live(let run): run.error
        case .archived(let run): run.error
        }
    }

    package var isActive: Bool {
        switch self {
        case .live(let run): run.state.isActive
        case .archived(let run): run.endedAt == nil
        }
    }

    fileprivate var order: (Timestamp, String) {
        switch self {
        case .live(let run): (run.startedAt, run.id)
        case .archived(let run): (run.startedAt, run.id)
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .live(let run): writer.value(run)
        case .archived(let run): writer.raw(run.json)
        }
    }
}

/// Finds runs in memory and in the database.
package final class RunArchive {
    package enum Found {
        case run(KnownRun)
        /// The message exists, but its run does not yet.
        case waiting(OutboxEntry)

        package var session: String {
            switch self {
            case .run(let run): run.session
            case .waiting(let entry): entry.session
            }
        }
    }

    package struct Page {
        package let runs: [KnownRun]
        /// Whether there may be older runs.
        package let hasMore: Bool
    }

    private let feed: EventFeed
    private let runs: RunService

    init(feed: EventFeed, runs: RunService) {
        self.feed = feed
        self.runs = runs
    }

    /// Finds a run by its own id, or by the id or key of its message; nil if there is none.
    package func find(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Found?, any Error>) -> Void
    ) {
        if let run = runs.run(id) { return completion(.success(.run(.live(run)))) }
        feed.read(on: loop) { tables -> (ArchivedRun?, OutboxEntry?) in
            if let run = try Self.run(id, in: tables) { return (run, nil) }
            let entry = try tables.outbox.entry(id: OutboxEntry.entryID(ofKey: id))
            return (try entry?.runID.flatMap { try Self.run($0, in: tables) }, entry)
        } completion: { [runs] result in
            completion(
                result.map { archived, entry in
                    // The run may have begun meanwhile.
                    if let run = (archived?.id ?? entry?.runID).flatMap({ runs.run($0) }) { return .run(.live(run)) }
                    return archived.map { .run(.archived($0)) } ?? entry.map { .waiting($0) }
                }
            )
        }
    }

    /// The run in progress that answers this run's message instead of it; nil if there is none.
    package func successor(
        of run: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<String?, any Error>) -> Void
    ) {
        feed.read(on: loop) { tables in
            try tables.outbox.entry(answeredBy: run)?.runID
        } completion: { [runs] result in
            completion(
                result.map { found in
                    found.flatMap { $0 != run && runs.run($0)?.state.isActive == true ? $0 : nil }
                }
            )
        }
    }

    /// Reads a run that is no longer in memory; nil if there is none.
    package func read(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<ArchivedRun?, any Error>) -> Void
    ) {
        feed.read(on: loop) { tables in
            try Self.run(id, in: tables)
        } completion: { result in
            completion(result)
        }
    }

    private static func run(_ id: String, in tables: StoreTables) throws -> ArchivedRun? {
        try tables.runs.run(id: id).map { ArchivedRun($0, steps: try tables.runs.steps(run: id)) }
    }

    // MARK: Pages

    private struct Rows: Sendable {
        var runs: [ArchivedRun] = []
        /// The last run of the previous page.
        var before: RowPlace?
        var isKnownPlace = true
    }

    private static func has(_ session: String, _ sessions: [String?]) -> Bool {
        sessions.admit(session)
    }

    /// Reads a page of runs, newest first.
    /// - Parameters:
    ///   - sessions: nil means all sessions.
    ///   - before: the last run of the previous page.
    ///   - completion: gets nil if `before` is not a run of these sessions.
    package func page(
        sessions: [String?],
        before: String?,
        limit: Int,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Page?, any Error>) -> Void
    ) {
        // Taken before the read: a run that ends meanwhile may be missing from both the rows and the memory.
        let known = recent
        // A run that waits for its turn has no row yet, so memory gives its place.
        let waiting = before.flatMap { runs.run($0) }.flatMap { run in
            Self.has(run.session.text, sessions) ? RowPlace(run.startedAt, run.id) : nil
        }
        feed.read(on: loop) { tables in
            let table = tables.runs
            var page = Rows()
            if let before {
                let run = try table.run(id: before).flatMap { Self.has($0.session, sessions) ? $0 : nil }
                page.before = run.map { RowPlace($0.startedAt, $0.id) } ?? waiting
                page.isKnownPlace = page.before != nil
            }
            guard page.isKnownPlace else { return page }
            var rows: [StoredRun] = []
            for session in sessions { rows += try table.list(session: session, before: page.before, limit: limit) }
            rows.sort { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
            page.runs = try rows.prefix(limit).map { ArchivedRun($0, steps: try table.steps(run: $0.id)) }
            return page
        } completion: { [self] result in
            completion(
                result.map { rows in
                    guard rows.isKnownPlace else { return nil }
                    let live = (recent + known.map { runs.run($0.id) ?? $0 }).filter { $0.isOf(sessions) }
                    let shown = Self.merge(rows, with: live).prefix(limit)
                    return Page(runs: Array(shown), hasMore: shown.count == limit)
                }
            )
        }
    }

    /// A page of the active runs, from memory; nil if `before` is not one of them.
    package func activePage(sessions: [String?], before: String?, limit: Int) -> Page? {
        var active = runs.runs(activeOnly: true).filter { $0.isOf(sessions) }[...]
        if let before {
            guard let place = active.firstIndex(where: { $0.id == before }) else { return nil }
            active = active[(place + 1)...]
        }
        let shown = active.prefix(limit)
        return Page(runs: shown.map { .live($0) }, hasMore: shown.count < active.count)
    }

    /// Runs whose rows may be older than their state in memory.
    private var recent: [Run] { runs.runs(activeOnly: true) + runs.ending }

    /// Prefers memory: a row is written only when a run begins and ends, and a moment later.
    private static func merge(_ rows: Rows, with recent: [Run]) -> [KnownRun] {
        var live = Dictionary(recent.map { ($0.id, $0) }) { first, _ in first }
        var shown: [KnownRun] = rows.runs.map { run in
            live.removeValue(forKey: run.id).map { .live($0) } ?? .archived(run)
        }
        shown += live.values.filter { run in
            rows.before.map { (run.startedAt, run.id) < ($0.at, $0.id) } ?? true
        }.map { .live($0) }
        return shown.sorted { $0.order > $1.order }
    }
}

extension RunService {
    /// The id of the run that answers an entry: its own key, unless the gateway answered under another id.
    package func run(answering entry: OutboxEntry) -> String { resolved(entry.runID ?? entry.upstreamKey) }
}

extension Run {
    fileprivate func isOf(_ sessions: [String?]) -> Bool { sessions.admit(session.text) }
}
