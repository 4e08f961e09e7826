import Basics
import Ledger
import Outbox
import Runs
import Store

/// The runs that an earlier process of Ladle followed, as the database has them.
struct SavedRuns: Sendable {
    struct Open: Sendable {
        var run: Run
        /// The text of the run's message, if Ladle sent it.
        var message: String?
        /// The state of that message.
        var delivery: OutboxState?
    }

    /// Unseen runs are looked for of the newest messages, up to this age and this many.
    private static let unseenMilliseconds: Int64 = 600_000
    private static let mostEntries = 100
    /// The runs that are remembered of a session with refused messages: the gateway begins one or two by itself at each restart.
    private static let mostOfGateway = 20
    /// The age up to which runs are remembered with which the gateway may go on: it may have been away for a night.
    private static let pastMilliseconds: Int64 = 86_400_000

    /// Runs that have not ended.
    let open: [Open]
    /// Runs that have ended and are still needed.
    let past: [PastRun]
    /// Messages that the gateway has, or may have, and whose run was never seen.
    let entries: [OutboxEntry]
    /// Runs that the gateway said it stopped.
    let stopped: Set<String>
    let process: GatewayProcess?

    init(_ tables: StoreTables, now: Timestamp) throws {
        open = try tables.runs.active().map { run in
            let entry = try tables.outbox.entry(answeredBy: run.id)
            return Open(
                run: try tables.runs.whole(run),
                message: entry?.text,
                delivery: entry?.state
            )
        }
        process = try GatewayProcess.kept(in: tables)
        let since = now.adding(milliseconds: -Self.pastMilliseconds)
        var recent = OutboxTable.Query()
        // A message in doubt may have a run too, which must not end while the message may be sent again.
        recent.states = [.delivered, .accepted, .sending, .unconfirmed]
        recent.limit = Self.mostEntries
        let unseenSince = now.adding(milliseconds: -Self.unseenMilliseconds)
        entries = try tables.outbox.list(recent).filter { entry in
            try (entry.state != .delivered || entry.updatedAt >= unseenSince) && Self.lacksRun(entry, tables)
        }
        recent.states = [.failed]
        let refused = try tables.outbox.list(recent).filter(\.wasRefused)
        let stops = try tables.outbox.confirmedStops(since: since, limit: Self.mostEntries)
        stopped = Set(stops.compactMap(\.text))
        past =
            try Self.stopped(stops, tables) + Self.givenUp(since: since, process, tables)
            + Self.ofGateway(since: refused, tables)
    }

    static func lacksRun(_ entry: OutboxEntry, _ tables: StoreTables) throws -> Bool {
        guard entry.kind == .message else { return false }
        return try tables.runs.state(id: entry.runID ?? entry.upstreamKey) == nil
    }

    // MARK: Ended runs that are still needed

    private static func stopped(_ stops: [OutboxEntry], _ tables: StoreTables) throws -> [PastRun] {
        try stops.compactMap { stop in
            guard let id = stop.text, let run = try tables.runs.run(id: id), run.end == .aborted,
                run.continuedAs == nil
            else { return nil }
            return try past(run, .stopped(at: stop.updatedAt), tables)
        }
    }

    private static func givenUp(
        since: Timestamp,
        _ process: GatewayProcess?,
        _ tables: StoreTables
    ) throws -> [PastRun] {
        try tables.runs.givenUp(since: since, limit: mostEntries).compactMap { run in
            guard let endedAt = run.endedAt else { return nil }
            return try past(run, .givenUp(goneAt: max(endedAt, process?.startedAt ?? endedAt)), tables)
        }
    }

    /// Runs that the gateway began by itself since it refused these messages.
    private static func ofGateway(since refused: [OutboxEntry], _ tables: StoreTables) throws -> [PastRun] {
        let sessions = Dictionary(grouping: refused, by: \.session)
        return try sessions.flatMap { session, entries -> [PastRun] in
            guard let since = entries.map(\.createdAt).min() else { return [] }
            return try tables.runs.list(session: session, before: nil, limit: mostOfGateway).compactMap {
                run -> PastRun? in
                guard let endedAt = run.endedAt, endedAt >= since,
                    try tables.outbox.entry(answeredBy: run.id) == nil
                else { return nil }
                return PastRun(
                    id: run.id,
                    session: run.session,
                    end: .ofGateway(run.state),
                    message: nil,
                    text: "",
                    startedAt: run.startedAt,
                    endedAt: endedAt
                )
            }
        }
    }

    /// Only runs of our own messages: the gateway names no others when it continues them.
    private static func past(_ run: Run, _ end: PastRun.End, _ tables: StoreTables) throws -> PastRun? {
        guard let endedAt = run.endedAt, let message = try tables.outbox.entry(answeredBy: run.id)?.text else {
            return nil
        }
        return PastRun(
            id: run.id,
            session: run.session,
            end: end,
            message: message,
            text: run.text,
            startedAt: run.startedAt,
            endedAt: endedAt
        )
    }
}
