import Basics
import Ledger
import Outbox
import Runs
import Store

/// Reads from the database the runs that may still change: runs in progress, ended runs with which the gateway may go on, and
/// messages whose run was never seen; and ended runs beside those, as rows of the transcript may be theirs.
struct KnownRuns: Sendable {
    /// Ended runs first, then runs in progress, then messages without a run.
    let runs: [KnownRun]
    let process: GatewayProcess?

    init(_ tables: StoreTables, now: Timestamp) throws {
        process = try GatewayProcess.kept(in: tables)
        let since = now.adding(milliseconds: -Self.endedMilliseconds)
        let stops = try tables.outbox.confirmedStops(since: since, limit: Self.mostEntries)
        let ended = try Self.stopped(stops, tables) + Self.givenUp(since: since, process, tables)
        let current = try (Self.open(tables) + Self.unseen(stops, tables, now: now)).map { run in
            var run = run
            if let sentAt = run.message?.sentAt {
                run.message?.earlier = try tables.said.ofPeople(in: run.session.text, before: sentAt)
            }
            return run
        }
        runs = try ended + Self.near(current, besides: ended, tables) + current
    }

    // MARK: Ended

    /// The age up to which a gateway may go on with a run: it may have been away for a night.
    private static let endedMilliseconds: Int64 = 86_400_000

    /// Stopped runs. The gateway may have been killed before the stop was on its disk, and then goes on with the run.
    private static func stopped(_ stops: [OutboxEntry], _ tables: StoreTables) throws -> [KnownRun] {
        try stops.compactMap { stop in
            guard let id = stop.text, let run = try tables.runs.run(id: id), run.end == .aborted,
                run.continuedAs == nil, let message = try message(of: id, tables)
            else { return nil }
            var known = KnownRun(run, message: message, stoppedAt: stop.updatedAt)
            known.isPutAside = try tables.runs.has(.putAside, id: id)
            return known
        }
    }

    private static func givenUp(
        since: Timestamp,
        _ process: GatewayProcess?,
        _ tables: StoreTables
    ) throws -> [KnownRun] {
        try tables.runs.givenUp(since: since, limit: mostEntries).compactMap { run in
            // Only runs of our own messages can be found again: a gateway that goes on with a run does not name it, and the
            // words of other clients' messages are not on disk.
            guard let endedAt = run.endedAt, let message = try message(of: run.id, tables) else { return nil }
            return KnownRun(run, message: message, goneAt: max(endedAt, process?.startedAt ?? endedAt))
        }
    }

    /// Ended runs whose rows one of these might be taken to own, and those that may answer its message, or one that the gateway refused
    /// before. With their texts: a correction of such a run publishes it whole.
    private static func near(
        _ current: [KnownRun],
        besides ended: [KnownRun],
        _ tables: StoreTables
    ) throws -> [KnownRun] {
        var failed = OutboxTable.Query()
        failed.states = [.failed]
        failed.limit = mostEntries
        let refused = try tables.outbox.list(failed).filter(\.wasRefused).map { ($0.session, $0.createdAt) }
        let begun = current.compactMap { run in
            (run.message?.sentAt ?? run.published?.startedAt).map { (run.session.text, $0) }
        }
        var known = Set((current + ended).map(\.id))
        return try Dictionary(refused + begun, uniquingKeysWith: min).flatMap { session, first in
            let since = ClockWindow.row(dispatchedAt: first).from
            return try tables.runs.ended(in: session, since: since, ofNewest: ActivityLimits.endedRunsPerSession)
                .filter { known.insert($0.id).inserted }
                .map { try KnownRun(published: $0, message: message(of: $0.id, tables), tables) }
        }
    }

    // MARK: In progress

    private static func open(_ tables: StoreTables) throws -> [KnownRun] {
        try tables.runs.active().map { run in
            var message = try message(of: run.id, tables)
            if try tables.runs.has(.begunBefore, id: run.id) { message?.hadBegun = true }
            return try KnownRun(published: tables.runs.whole(run), message: message, tables)
        }
    }

    private static func message(of run: String, _ tables: StoreTables) throws -> KnownRun.Message? {
        try tables.outbox.entry(answeredBy: run).flatMap { entry in entry.text.map { KnownRun.Message(entry, $0) } }
    }

    // MARK: Unseen

    /// A message that was delivered longer ago than this has no run at the gateway any more.
    private static let unseenMilliseconds: Int64 = 600_000
    private static let mostEntries = 100

    /// Messages whose run was never seen and that the gateway has or may have: even a message in doubt may have a run, until it is told as
    /// unknown.
    private static func unseen(_ stops: [OutboxEntry], _ tables: StoreTables, now: Timestamp) throws -> [KnownRun] {
        let stoppedAt = Dictionary(stops.compactMap { stop in stop.text.map { ($0, stop.updatedAt) } }) { $1 }
        let since = now.adding(milliseconds: -unseenMilliseconds)
        var recent = OutboxTable.Query()
        recent.states = [.delivered, .accepted, .sending, .unconfirmed]
        recent.limit = mostEntries
        return try tables.outbox.list(recent).filter { entry in
            try (entry.state != .delivered || entry.updatedAt >= since) && !entry.letsOthersGo
                && lacksRun(entry, tables)
        }.map { KnownRun($0, stoppedAt: stoppedAt[$0.run]) }
    }

    static func lacksRun(_ entry: OutboxEntry, _ tables: StoreTables) throws -> Bool {
        try entry.kind == .message && entry.joinedRun == nil && tables.runs.outcome(id: entry.run) == nil
    }
}

extension KnownRun {
    /// A run on the streams, with what only its row shows.
    fileprivate init(published run: Run, message: Message?, _ tables: StoreTables) throws {
        self.init(run, message: message)
        mayBeStrangers = try tables.runs.has(.mayBeStrangers, id: run.id)
    }

    /// A run of which no event was seen, made from its message.
    init(_ entry: OutboxEntry, stoppedAt: Timestamp? = nil, goneAt: Timestamp? = nil) {
        self.init(
            entry.run,
            session: SessionKey(canonical: entry.session),
            message: Message(entry, entry.text ?? ""),
            stoppedAt: stoppedAt,
            goneAt: goneAt
        )
    }
}

extension KnownRun.Message {
    fileprivate init(_ entry: OutboxEntry, _ text: String) {
        let delivery: Delivery =
            entry.isDeliveredThoughRefused
            ? .refused : entry.state == .retrying ? .lost : entry.state.hasEnded ? .over : .open
        let sentAt = entry.firstDispatchAt ?? entry.createdAt
        self.init(
            text,
            sentAt: sentAt,
            clockSkewMs: entry.dispatchSkewMs,
            delivery: delivery,
            hadBegun: delivery == .lost
        )
        deferral = entry.deferral
    }
}
