package import SQLite

/// Tables of events, runs, cached messages and small values.
package enum EventLogSchema {
    package static let migrations = [
        Migration(
            module: "eventlog",
            version: 1,
            script: """
                CREATE TABLE event_log(
                    only INTEGER PRIMARY KEY CHECK(only = 1),
                    epoch TEXT NOT NULL,
                    created_at INTEGER NOT NULL
                );
                CREATE TABLE event(
                    seq INTEGER PRIMARY KEY,
                    at INTEGER NOT NULL,
                    type TEXT NOT NULL,
                    session TEXT,
                    run TEXT,
                    data BLOB NOT NULL
                );
                CREATE TABLE run(
                    id TEXT PRIMARY KEY,
                    session TEXT NOT NULL,
                    state TEXT NOT NULL,
                    started_at INTEGER NOT NULL,
                    ended_at INTEGER,
                    body BLOB NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX run_started ON run(started_at, id);
                CREATE INDEX run_session ON run(session, started_at, id);
                CREATE INDEX run_active ON run(started_at) WHERE ended_at IS NULL;
                CREATE INDEX run_ended ON run(ended_at) WHERE ended_at IS NOT NULL;
                CREATE TABLE run_step(
                    run TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    PRIMARY KEY(run, seq)
                ) WITHOUT ROWID;
                CREATE TABLE message(
                    session TEXT NOT NULL,
                    id TEXT NOT NULL,
                    at INTEGER NOT NULL,
                    ordinal INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    PRIMARY KEY(session, id)
                );
                CREATE INDEX message_order ON message(session, at, ordinal);
                CREATE TABLE message_session(
                    session TEXT PRIMARY KEY,
                    as_of INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX message_session_age ON message_session(as_of);
                CREATE TABLE value(
                    space TEXT NOT NULL,
                    name TEXT NOT NULL,
                    updated_at INTEGER NOT NULL,
                    bytes BLOB NOT NULL,
                    PRIMARY KEY(space, name)
                ) WITHOUT ROWID;
                """
        ),
        Migration(
            module: "eventlog",
            version: 2,
            script: "ALTER TABLE message_session ADD COLUMN conversation TEXT;"
        ),
        // `begun_at`: when the conversation replaced another one.
        Migration(
            module: "eventlog",
            version: 3,
            script: "ALTER TABLE message_session ADD COLUMN begun_at INTEGER;"
        ),
        Migration(module: "eventlog", version: 4, script: typedRuns),
        Migration(module: "eventlog", version: 5, script: said),
        Migration(
            module: "eventlog",
            version: 6,
            script: "ALTER TABLE run ADD COLUMN executed_again INTEGER NOT NULL DEFAULT 0;"
        ),
        Migration(
            module: "eventlog",
            version: 7,
            script: "ALTER TABLE run ADD COLUMN truncated INTEGER NOT NULL DEFAULT 0;"
        ),
        // `put_aside`: the gateway keeps the message of this run, which it said it had stopped. `begun_before`: the agent had begun with
        // the message in a process of the gateway that lost it.
        Migration(
            module: "eventlog",
            version: 8,
            script: """
                ALTER TABLE run ADD COLUMN put_aside INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE run ADD COLUMN begun_before INTEGER NOT NULL DEFAULT 0;
                """
        ),
        Migration(
            module: "eventlog",
            version: 9,
            script: "ALTER TABLE run ADD COLUMN handed_over INTEGER NOT NULL DEFAULT 0;"
        ),
        // A page of a session is shown with the runs that the stream has told.
        Migration(module: "eventlog", version: 10, script: "CREATE INDEX said_session ON said(session, seq)"),
        // The run began while another client's message waited.
        Migration(
            module: "eventlog",
            version: 11,
            script: "ALTER TABLE run ADD COLUMN may_be_strangers INTEGER NOT NULL DEFAULT 0;"
        ),
        EventTable.checksum,
    ]

    /// Runs and steps in columns. Before, they were the API's JSON, which the program had to parse again. `end_kind` is an `Ending.How`.
    private static let typedRuns = """
        CREATE TABLE typed_run(
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL,
            state TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            ended_at INTEGER,
            end_kind TEXT,
            text TEXT NOT NULL,
            error TEXT,
            continued_as TEXT,
            tokens_in INTEGER,
            tokens_out INTEGER,
            cache_read INTEGER,
            cache_write INTEGER,
            tokens INTEGER,
            cost REAL,
            may_return INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;
        INSERT INTO typed_run
            SELECT id, session, state, started_at, ended_at,
                CASE WHEN json_extract(run, '$.code') = 'RUN_INTERRUPTED' THEN 'interrupted'
                    WHEN ended_at IS NOT NULL THEN state END,
                coalesce(json_extract(run, '$.text'), ''), json_extract(run, '$.error'),
                json_extract(run, '$.continuedAs'), json_extract(run, '$.usage.input'),
                json_extract(run, '$.usage.output'), json_extract(run, '$.usage.cacheRead'),
                json_extract(run, '$.usage.cacheWrite'), json_extract(run, '$.usage.totalTokens'),
                json_extract(run, '$.usage.cost'), 0
            FROM (SELECT *, \(json("body")) AS run FROM run);
        DROP TABLE run;
        ALTER TABLE typed_run RENAME TO run;
        CREATE INDEX run_started ON run(started_at, id);
        CREATE INDEX run_session ON run(session, started_at, id);
        CREATE INDEX run_active ON run(started_at) WHERE ended_at IS NULL;
        CREATE INDEX run_ended ON run(ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX run_given_up ON run(ended_at) WHERE end_kind = 'interrupted' AND continued_as IS NULL;
        CREATE TABLE typed_step(
            run TEXT NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            kind TEXT NOT NULL,
            tool TEXT,
            call TEXT,
            category TEXT NOT NULL,
            label TEXT NOT NULL,
            detail TEXT,
            approval TEXT,
            state TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            ended_at INTEGER,
            duration_ms INTEGER,
            exit_code INTEGER,
            error TEXT,
            PRIMARY KEY(run, seq)
        ) WITHOUT ROWID;
        INSERT OR IGNORE INTO typed_step
            SELECT run, seq, json_extract(step, '$.id'), json_extract(step, '$.kind'), json_extract(step, '$.tool'),
                json_extract(step, '$.toolCallId'), json_extract(step, '$.category'), json_extract(step, '$.label'),
                json_extract(step, '$.detail'), json_extract(step, '$.approvalId'), json_extract(step, '$.state'),
                \(milliseconds("step", "startedAt")), \(milliseconds("step", "endedAt")),
                json_extract(step, '$.durationMs'), json_extract(step, '$.exitCode'), json_extract(step, '$.error')
            FROM (SELECT *, \(json("body")) AS step FROM run_step);
        DROP TABLE run_step;
        ALTER TABLE typed_step RENAME TO run_step;
        """

    /// Which messages, sessions and ends of runs are on the stream. Before, each start read it from the newest 10,000 events, as this
    /// does once.
    private static let said = """
        CREATE TABLE said(
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            session TEXT NOT NULL,
            role TEXT NOT NULL,
            state TEXT NOT NULL,
            run TEXT,
            at INTEGER NOT NULL
        );
        CREATE INDEX said_unsent ON said(seq) WHERE role = 'user' AND state <> 'sent';
        INSERT OR REPLACE INTO said
            SELECT seq, json_extract(event, '$.message.id'), session, json_extract(event, '$.message.role'),
                json_extract(event, '$.message.state'), json_extract(event, '$.message.runId'),
                \(milliseconds("event", "message.at"))
            FROM (SELECT seq, session, \(json("data")) AS event FROM event
                WHERE type = 'message' AND seq > (SELECT max(seq) FROM event) - 10000)
            WHERE session IS NOT NULL AND json_extract(event, '$.message.state') IS NOT NULL ORDER BY seq;
        CREATE TABLE event_session(session TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO event_session SELECT session, max(seq) FROM event WHERE session IS NOT NULL GROUP BY session;
        CREATE TRIGGER event_added AFTER INSERT ON event WHEN new.session IS NOT NULL BEGIN
            INSERT INTO event_session VALUES(new.session, new.seq) ON CONFLICT DO UPDATE SET seq = excluded.seq;
        END;
        ALTER TABLE run ADD COLUMN unanswered_since INTEGER;
        CREATE INDEX run_unanswered ON run(session, unanswered_since) WHERE unanswered_since IS NOT NULL;
        UPDATE run SET unanswered_since = (SELECT max(at) FROM event WHERE type = 'run.ended' AND event.run = run.id)
            WHERE end_kind <> 'interrupted' AND id IN (SELECT e.run FROM event e WHERE e.type = 'run.ended'
                AND e.at >= (SELECT at FROM event ORDER BY seq DESC LIMIT 1) - 60000
                AND NOT EXISTS (SELECT 1 FROM said s WHERE s.session = e.session AND s.role <> 'user' AND s.seq > e.seq));
        """

    /// A column of JSON as text. What is no JSON is an empty object, so that one bad row does not stop the upgrade.
    private static func json(_ column: String) -> String {
        "iif(json_valid(CAST(\(column) AS TEXT)), CAST(\(column) AS TEXT), '{}')"
    }

    /// A time of the API as the database stores it.
    private static func milliseconds(_ column: String, _ member: String) -> String {
        "CAST(round((julianday(json_extract(\(column), '$.\(member)')) - 2440587.5) * 86400000) AS INTEGER)"
    }
}
