import Basics
package import EventLoops
import Gateway
package import Outbox
package import Runs
import Store

/// Finds runs in memory and in the database.
package final class RunArchive {
    package enum Found {
        case run(Run)
        /// The message exists, but its run does not yet.
        case waiting(OutboxEntry)

        package var session: String {
            switch self {
            case .run(let run): run.session.text
            case .waiting(let entry): entry.session
            }
        }
    }

    package struct Page {
        package let runs: [Run]
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
    package func find(_ id: String, on loop: isolated EventLoop) async throws -> Found? {
        if let run = runs.run(id) { return .run(run) }
        let (saved, entry) = try await feed.read(on: loop) { tables -> (Run?, OutboxEntry?) in
            if let run = try Self.run(id, in: tables) { return (run, nil) }
            let entry = try tables.outbox.entry(id: OutboxEntry.entryID(ofKey: id))
            return (try entry?.runID.flatMap { try Self.run($0, in: tables) }, entry)
        }
        // The run may have begun meanwhile.
        let run = (saved?.id ?? entry?.runID).flatMap { runs.run($0) } ?? saved
        return run.map { .run($0) } ?? entry.map { .waiting($0) }
    }

    /// Finds a run as lists show it: one with whose message another run goes on is still a run of its own.
    package func listed(_ id: String, on loop: isolated EventLoop) async throws -> Found? {
        if runs.resolved(id) != id, let run = try await feed.read(on: loop, { try Self.run(id, in: $0) }) {
            return .run(run)
        }
        return try await find(id, on: loop)
    }

    /// The run in progress that answers this run's message instead of it; nil if there is none.
    package func successor(of run: String, on loop: isolated EventLoop) async throws -> String? {
        let found = try await feed.read(on: loop) { try $0.outbox.entry(answeredBy: run)?.runID }
        return found.flatMap { $0 != run && runs.run($0)?.state.isActive == true ? $0 : nil }
    }

    /// Reads a run that is no longer in memory; nil if there is none.
    package func read(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Run?, any Error>) -> Void
    ) {
        feed.read(on: loop) { tables in
            try Self.run(id, in: tables)
        } completion: { result in
            completion(result)
        }
    }

    private static func run(_ id: String, in tables: StoreTables) throws -> Run? {
        try tables.runs.run(id: id).map { try tables.runs.whole($0) }
    }

    /// The run that was answered last, among the last ones. One that began earlier may have ended later.
    static func lastReply(in tables: StoreTables) throws -> Run? {
        let ended = try tables.events.endedRuns(limit: 20).compactMap { try tables.runs.run(id: $0) }
        let last = try ended + tables.runs.list(session: nil, before: nil, limit: 20)
        return try last.first { $0.state == .completed && !$0.text.isEmpty }.map { try tables.runs.whole($0) }
    }

    // MARK: Pages

    private struct Rows: Sendable {
        var runs: [Run] = []
        /// The last run of the previous page.
        var before: RowPlace?
        var isKnownPlace = true
    }

    /// Reads a page of runs, newest first.
    /// - Parameters:
    ///   - sessions: nil means all sessions.
    ///   - before: the last run of the previous page.
    /// - Returns: nil if `before` is not a run of these sessions.
    package func page(
        sessions: [String?],
        before: String?,
        limit: Int,
        on loop: isolated EventLoop
    ) async throws -> Page? {
        // Taken before the read: a run that ends meanwhile may be missing from both the rows and the memory.
        let known = recent
        // A run that waits for its turn has no row yet, so memory gives its place.
        let waiting = before.flatMap { runs.run($0) }.flatMap { run in
            run.isOf(sessions) ? RowPlace(run.startedAt, run.id) : nil
        }
        let rows = try await feed.read(on: loop) { tables -> Rows in
            let table = tables.runs
            var page = Rows()
            if let before {
                let run = try table.run(id: before).flatMap { $0.isOf(sessions) ? $0 : nil }
                page.before = run.map { RowPlace($0.startedAt, $0.id) } ?? waiting
                page.isKnownPlace = page.before != nil
            }
            guard page.isKnownPlace else { return page }
            var rows: [Run] = []
            for session in sessions { rows += try table.list(session: session, before: page.before, limit: limit) }
            rows.sort { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
            page.runs = try rows.prefix(limit).map { try table.whole($0) }
            return page
        }
        guard rows.isKnownPlace else { return nil }
        let live = (recent + known.map { runs.run($0.id) ?? $0 }).filter { $0.isOf(sessions) }
        let shown = Self.merge(rows, with: live).prefix(limit)
        return Page(runs: Array(shown), hasMore: shown.count == limit)
    }

    /// A page of the active runs, from memory; nil if `before` is not one of them.
    package func activePage(sessions: [String?], before: String?, limit: Int) -> Page? {
        var active = runs.runs(activeOnly: true).filter { $0.isOf(sessions) }[...]
        if let before {
            guard let place = active.firstIndex(where: { $0.id == before }) else { return nil }
            active = active[(place + 1)...]
        }
        let shown = active.prefix(limit)
        return Page(runs: Array(shown), hasMore: shown.count < active.count)
    }

    /// Runs whose rows may be older than their state in memory.
    private var recent: [Run] { runs.runs(activeOnly: true) + runs.ending }

    /// Prefers memory: a row is written only when a run begins and ends, and a moment later.
    private static func merge(_ rows: Rows, with recent: [Run]) -> [Run] {
        var live = Dictionary(recent.map { ($0.id, $0) }) { first, _ in first }
        var shown = rows.runs.map { live.removeValue(forKey: $0.id) ?? $0 }
        shown += live.values.filter { run in
            rows.before.map { (run.startedAt, run.id) < ($0.at, $0.id) } ?? true
        }
        return shown.sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }
}

extension RunService {
    package func run(answering entry: OutboxEntry) -> String { resolved(entry.run) }
}

extension Run {
    fileprivate func isOf(_ sessions: [String?]) -> Bool { sessions.admit(session.text) }
}
