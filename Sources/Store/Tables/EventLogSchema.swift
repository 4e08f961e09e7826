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
    ]
}
