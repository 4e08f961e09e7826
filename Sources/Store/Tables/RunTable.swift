package import Basics
import Gateway
import Labels
package import Ledger
package import Runs
package import SQL

/// Runs and their steps, kept as long as their events.
package struct RunTable {
    private let connection: SQLConnection

    package init(_ connection: SQLConnection) {
        self.connection = connection
    }

    // MARK: Writing

    /// Writes the run without its steps.
    package func save(_ run: Run) throws(SQLError) {
        try connection.run(
            """
            INSERT INTO run(\(Self.columns)) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(id) DO UPDATE SET session = excluded.session, state = excluded.state,
            started_at = excluded.started_at, ended_at = excluded.ended_at, end_kind = excluded.end_kind,
            text = excluded.text, error = excluded.error, continued_as = excluded.continued_as,
            tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, cache_read = excluded.cache_read,
            cache_write = excluded.cache_write, tokens = excluded.tokens, cost = excluded.cost,
            may_return = excluded.may_return, executed_again = excluded.executed_again,
            truncated = excluded.truncated, handed_over = excluded.handed_over
            """,
            run.id,
            run.session.text,
            run.state.rawValue,
            run.startedAt.milliseconds,
            run.endedAt?.milliseconds,
            run.end?.rawValue,
            run.text,
            run.error,
            run.continuedAs,
            run.usage?.input,
            run.usage?.output,
            run.usage?.cacheRead,
            run.usage?.cacheWrite,
            run.usage?.totalTokens,
            run.usage?.cost,
            run.mayReturn ? 1 : 0,
            run.executedAgain ? 1 : 0,
            run.isTruncated ? 1 : 0,
            run.handedOver ? 1 : 0
        )
    }

    package func save(_ step: Step) throws(SQLError) {
        try connection.run(
            """
            INSERT INTO run_step(run, \(Self.stepColumns)) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(run, seq) DO UPDATE SET id = excluded.id, kind = excluded.kind, tool = excluded.tool,
            call = excluded.call, category = excluded.category, label = excluded.label, detail = excluded.detail,
            approval = excluded.approval, state = excluded.state, started_at = excluded.started_at,
            ended_at = excluded.ended_at, duration_ms = excluded.duration_ms, exit_code = excluded.exit_code,
            error = excluded.error
            """,
            step.runID,
            step.sequence,
            step.id,
            step.kind.rawValue,
            step.tool,
            step.toolCallID,
            step.category.rawValue,
            step.label,
            step.detail,
            step.approvalID,
            step.state.rawValue,
            step.startedAt.milliseconds,
            step.endedAt?.milliseconds,
            step.durationMilliseconds,
            step.exitCode,
            step.error
        )
    }

    /// The end of the run is on the stream since this time, and its answer is not.
    package func awaitsAnswer(_ id: String, since time: Timestamp) throws(SQLError) {
        try connection.run("UPDATE run SET unanswered_since = ? WHERE id = ?", time.milliseconds, id)
    }

    /// A fact that a later process of Ladle cannot see in the run itself.
    package enum Mark: String, Sendable {
        /// The gateway keeps the message of this run, which it said it had stopped, and runs it later.
        case putAside = "put_aside"
        /// The agent had begun with the message in a process of the gateway that lost it.
        case begunBefore = "begun_before"
        /// The run began while a message of another client waited, so it may be that one's.
        case mayBeStrangers = "may_be_strangers"
    }

    package func mark(_ id: String, _ mark: Mark) throws(SQLError) {
        try connection.run("UPDATE run SET \(mark.rawValue) = 1 WHERE id = ?", id)
    }

    func answered(in session: String) throws(SQLError) {
        try connection.run(
            "UPDATE run SET unanswered_since = NULL WHERE session = ? AND unanswered_since IS NOT NULL",
            session
        )
    }

    // MARK: Reading

    /// Runs whose answers are not on the stream, oldest end first.
    package func unanswered(since time: Timestamp) throws(SQLError) -> [Run] {
        try connection.all(
            "SELECT \(Self.columns) FROM run WHERE unanswered_since >= ? ORDER BY unanswered_since",
            time.milliseconds,
            row: Self.run
        )
    }

    /// The run without its steps.
    package func run(id: String) throws(SQLError) -> Run? {
        try connection.first("SELECT \(Self.columns) FROM run WHERE id = ?", id, row: Self.run)
    }

    /// The start alone.
    package func start(id: String) throws(SQLError) -> Timestamp? {
        try connection.first("SELECT started_at FROM run WHERE id = ?", id) { row in
            Timestamp(milliseconds: row.int64(0))
        }
    }

    /// The state and the end alone, which needs no reading of the run's text.
    package func outcome(id: String) throws(SQLError) -> (state: Run.State, endedAt: Timestamp?)? {
        try connection.first("SELECT state, ended_at FROM run WHERE id = ?", id) { row in
            Run.State(rawValue: row.string(0)).map { state in
                (state, row.optionalInt64(1).map { Timestamp(milliseconds: $0) })
            }
        } ?? nil
    }

    /// How the run ended; nil for one that has not, or that is not known.
    package func end(id: String) throws(SQLError) -> Ending.How? {
        try connection.first("SELECT end_kind FROM run WHERE id = ?", id) { row in
            row.optionalString(0).flatMap(Ending.How.init(rawValue:))
        } ?? nil
    }

    package func has(_ mark: Mark, id: String) throws(SQLError) -> Bool {
        try connection.first("SELECT \(mark.rawValue) FROM run WHERE id = ?", id) { row in row.int(0) == 1 } ?? false
    }

    /// The run with its steps.
    package func whole(_ run: Run) throws(SQLError) -> Run {
        var run = run
        run.steps = try steps(run: run.id)
        return run
    }

    /// In the order of their numbers. A step of a kind that this version does not know is left out.
    package func steps(run: String) throws(SQLError) -> [Step] {
        try connection.all("SELECT \(Self.stepColumns) FROM run_step WHERE run = ? ORDER BY seq", run) { row in
            Self.step(row, of: run)
        }.compactMap(\.self)
    }

    package func active() throws(SQLError) -> [Run] {
        try connection.all(
            "SELECT \(Self.columns) FROM run WHERE ended_at IS NULL ORDER BY started_at",
            row: Self.run
        )
    }

    /// Runs that the gateway's process left and that no other process is known to go on with, newest first.
    package func givenUp(since time: Timestamp, limit: Int) throws(SQLError) -> [Run] {
        try connection.all(Self.givenUp, time.milliseconds, limit, row: Self.run)
    }

    static let givenUp =
        "SELECT \(columns) FROM run WHERE end_kind = 'interrupted' AND continued_as IS NULL AND ended_at >= ? "
        + "ORDER BY ended_at DESC LIMIT ?"

    /// Of the session's runs that began last, those that ended at this time or later, the earliest end first.
    package func ended(in session: String, since time: Timestamp, ofNewest limit: Int) throws(SQLError) -> [Run] {
        let newest = "SELECT id FROM run WHERE session = ? ORDER BY started_at DESC, id DESC LIMIT ?"
        return try connection.all(
            "SELECT \(Self.columns) FROM run WHERE id IN (\(newest)) AND ended_at >= ? ORDER BY ended_at",
            session,
            limit,
            time.milliseconds,
            row: Self.run
        )
    }

    /// When the session's newest runs began, if that was at this time or later, by their ids.
    package func starts(in session: String, since time: Timestamp, limit: Int) throws(SQLError) -> [String: Timestamp] {
        var found: [String: Timestamp] = [:]
        try connection.forEach(
            "SELECT id, started_at FROM run WHERE session = ? AND started_at >= ? ORDER BY started_at DESC LIMIT ?",
            session,
            time.milliseconds,
            limit
        ) { row in
            found[row.string(0)] = Timestamp(milliseconds: row.int64(1))
        }
        return found
    }

    /// Runs, newest first; `before` is the last run of the previous page.
    package func list(session: String?, before: RowPlace?, limit: Int) throws(SQLError) -> [Run] {
        try connection.all(
            Self.page(session: session != nil, before: before != nil),
            session,
            before?.at.milliseconds,
            before?.id,
            limit,
            row: Self.run
        )
    }

    /// An unused condition is left out instead of made always true, so that an index is used for the others.
    static func page(session: Bool, before: Bool) -> String {
        let conditions = [session ? "session = ?1" : nil, before ? "(started_at, id) < (?2, ?3)" : nil].compactMap(
            \.self
        )
        return "SELECT \(columns) FROM run "
            + (conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) ")
            + "ORDER BY started_at DESC, id DESC LIMIT ?4"
    }

    /// Deletes at most `slice` runs that ended before the given time, with their steps.
    package func prune(endedBefore time: Timestamp, slice: Int) throws(SQLError) -> Int {
        let ids = try connection.all(
            "SELECT id FROM run WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
            time.milliseconds,
            slice
        ) { row in row.string(0) }
        for id in ids {
            try connection.run("DELETE FROM run_step WHERE run = ?", id)
            try connection.run("DELETE FROM run WHERE id = ?", id)
        }
        return ids.count
    }

    // MARK: Columns

    private static let columns = """
        id, session, state, started_at, ended_at, end_kind, text, error, continued_as, tokens_in, tokens_out, cache_read,
        cache_write, tokens, cost, may_return, executed_again, truncated, handed_over
        """

    private static func run(_ row: SQLRow) throws(SQLError) -> Run {
        guard let state = Run.State(rawValue: row.string(2)) else {
            throw .malformed("unknown run state \(row.string(2))")
        }
        return Run(
            id: row.string(0),
            session: SessionKey(canonical: row.string(1)),
            state: state,
            startedAt: Timestamp(milliseconds: row.int64(3)),
            endedAt: row.optionalInt64(4).map { Timestamp(milliseconds: $0) },
            text: row.string(6),
            isTruncated: row.int(17) == 1,
            error: row.optionalString(7),
            end: row.optionalString(5).flatMap(Ending.How.init(rawValue:)),
            continuedAs: row.optionalString(8),
            mayReturn: row.int(15) == 1,
            executedAgain: row.int(16) == 1,
            handedOver: row.int(18) == 1,
            usage: usage(row)
        )
    }

    private static func usage(_ row: SQLRow) -> TokenUsage? {
        guard let input = row.optionalInt64(9) else { return nil }
        var usage = TokenUsage()
        usage.input = input
        usage.output = row.int64(10)
        usage.cacheRead = row.int64(11)
        usage.cacheWrite = row.int64(12)
        usage.totalTokens = row.int64(13)
        usage.cost = row.optionalDouble(14)
        return usage
    }

    private static let stepColumns = """
        seq, id, kind, tool, call, category, label, detail, approval, state, started_at, ended_at, duration_ms, exit_code,
        error
        """

    private static func step(_ row: SQLRow, of run: String) -> Step? {
        guard let kind = Step.Kind(rawValue: row.string(2)), let state = Step.State(rawValue: row.string(9)),
            let category = ActivityCategory(rawValue: row.string(5))
        else { return nil }
        return Step(
            id: row.string(1),
            runID: run,
            sequence: row.int(0),
            kind: kind,
            tool: row.optionalString(3),
            toolCallID: row.optionalString(4),
            category: category,
            label: row.string(6),
            detail: row.optionalString(7),
            approvalID: row.optionalString(8),
            state: state,
            startedAt: Timestamp(milliseconds: row.int64(10)),
            endedAt: row.optionalInt64(11).map { Timestamp(milliseconds: $0) },
            durationMilliseconds: row.optionalInt64(12),
            exitCode: row.optionalInt64(13),
            error: row.optionalString(14)
        )
    }
}
