package import SQLite

package enum OutboxSchema {
    /// Payloads are stored apart from their entries, so that a change of state does not rewrite megabytes. The totals
    /// are kept by triggers: limits and counts cost a few rows, whatever the number of entries.
    ///
    /// `gateway_identity` is not used. The column stays, because a migration that drops it would make an earlier
    /// version of the program refuse the file.
    package static let migrations = [
        Migration(
            module: "outbox",
            version: 1,
            script: """
                CREATE TABLE outbox(
                    ordinal INTEGER PRIMARY KEY,
                    id TEXT NOT NULL UNIQUE,
                    kind TEXT NOT NULL,
                    session TEXT NOT NULL,
                    state TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    updated_at INTEGER NOT NULL,
                    attempt_count INTEGER NOT NULL,
                    next_attempt_at INTEGER,
                    not_before INTEGER,
                    expires_at INTEGER NOT NULL,
                    run_id TEXT,
                    proof TEXT,
                    error_code TEXT,
                    error_detail TEXT,
                    version INTEGER NOT NULL,
                    is_slash_command INTEGER NOT NULL,
                    coalescing_key TEXT,
                    upstream_key TEXT NOT NULL,
                    key_generation INTEGER NOT NULL,
                    last_class TEXT,
                    first_dispatch_at INTEGER,
                    dispatch_uptime_ms INTEGER,
                    is_repeat_in_doubt INTEGER NOT NULL,
                    gateway_identity TEXT,
                    owner TEXT,
                    payload_bytes INTEGER NOT NULL
                );
                CREATE INDEX outbox_open ON outbox(ordinal) WHERE state NOT IN ('delivered', 'cancelled');
                CREATE INDEX outbox_done ON outbox(updated_at) WHERE state IN ('delivered', 'cancelled');
                CREATE INDEX outbox_session ON outbox(session, ordinal);
                CREATE INDEX outbox_run ON outbox(run_id) WHERE run_id IS NOT NULL;
                CREATE TABLE outbox_payload(
                    ordinal INTEGER PRIMARY KEY,
                    text TEXT,
                    body BLOB
                );
                CREATE TABLE outbox_attempt(
                    entry TEXT NOT NULL,
                    number INTEGER NOT NULL,
                    at INTEGER NOT NULL,
                    class TEXT NOT NULL,
                    key TEXT NOT NULL,
                    code TEXT,
                    detail TEXT,
                    delay_ms INTEGER,
                    PRIMARY KEY(entry, number)
                ) WITHOUT ROWID;
                CREATE TABLE outbox_total(
                    session TEXT NOT NULL,
                    state TEXT NOT NULL,
                    entries INTEGER NOT NULL,
                    bytes INTEGER NOT NULL,
                    PRIMARY KEY(session, state)
                ) WITHOUT ROWID;
                CREATE TABLE receipt(
                    scope TEXT NOT NULL,
                    key TEXT NOT NULL,
                    body_hash BLOB NOT NULL,
                    entry TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    PRIMARY KEY(scope, key)
                ) WITHOUT ROWID;
                CREATE INDEX receipt_age ON receipt(created_at);
                CREATE TRIGGER outbox_added AFTER INSERT ON outbox BEGIN
                    INSERT INTO outbox_total VALUES(new.session, new.state, 1, new.payload_bytes)
                        ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
                    INSERT INTO outbox_total VALUES('', new.state, 1, new.payload_bytes)
                        ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
                END;
                CREATE TRIGGER outbox_moved AFTER UPDATE OF state, payload_bytes ON outbox
                WHEN old.state <> new.state OR old.payload_bytes <> new.payload_bytes BEGIN
                    UPDATE outbox_total SET entries = entries - 1, bytes = bytes - old.payload_bytes
                        WHERE session IN ('', old.session) AND state = old.state;
                    INSERT INTO outbox_total VALUES(new.session, new.state, 1, new.payload_bytes)
                        ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
                    INSERT INTO outbox_total VALUES('', new.state, 1, new.payload_bytes)
                        ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
                    DELETE FROM outbox_total
                        WHERE session = old.session AND state = old.state AND entries = 0 AND session <> '';
                END;
                CREATE TRIGGER outbox_removed AFTER DELETE ON outbox BEGIN
                    UPDATE outbox_total SET entries = entries - 1, bytes = bytes - old.payload_bytes
                        WHERE session IN ('', old.session) AND state = old.state;
                    DELETE FROM outbox_total
                        WHERE session = old.session AND state = old.state AND entries = 0 AND session <> '';
                    DELETE FROM outbox_payload WHERE ordinal = old.ordinal;
                    DELETE FROM outbox_attempt WHERE entry = old.id;
                END;
                """
        ),
        Migration(
            module: "outbox",
            version: 2,
            script: """
                ALTER TABLE outbox ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;
                UPDATE outbox SET ttl_ms = \(formerTTL);
                """
        ),
        // Names, types and sizes of the attachments, which outlast their contents.
        Migration(
            module: "outbox",
            version: 3,
            script: "ALTER TABLE outbox_payload ADD COLUMN files BLOB;"
        ),
        Migration(
            module: "outbox",
            version: 4,
            script: "ALTER TABLE outbox ADD COLUMN dispatch_skew_ms INTEGER;"
        ),
        // Stops are found without a walk over closed messages. The published state of a message goes with its entry. A message that
        // is older than the log was published, and its event was deleted.
        Migration(
            module: "outbox",
            version: 5,
            script: """
                CREATE INDEX outbox_stop ON outbox(updated_at) WHERE kind = 'abort';
                CREATE TRIGGER outbox_message_removed AFTER DELETE ON outbox BEGIN
                    DELETE FROM said WHERE id = old.id;
                END;
                INSERT OR IGNORE INTO said
                    SELECT -ordinal, id, session, 'user', iif(state IN ('failed', 'expired'), 'failed', 'sending'), run_id, created_at
                    FROM outbox WHERE kind = 'message' AND state NOT IN ('delivered', 'cancelled')
                        AND created_at < (SELECT min(at) FROM event);
                """
        ),
        Migration(
            module: "outbox",
            version: 6,
            script: """
                ALTER TABLE outbox ADD COLUMN mode TEXT NOT NULL DEFAULT 'own';
                ALTER TABLE outbox ADD COLUMN joined_run TEXT;
                """
        ),
        // When the gateway said that the message waits, and the start of the run behind which it does.
        Migration(
            module: "outbox",
            version: 7,
            script: """
                ALTER TABLE outbox ADD COLUMN deferred_at INTEGER;
                ALTER TABLE outbox ADD COLUMN deferred_behind INTEGER;
                """
        ),
        // How many equal messages of other clients the gateway had taken before a message that waits.
        Migration(
            module: "outbox",
            version: 8,
            script: "ALTER TABLE outbox ADD COLUMN equals_before INTEGER NOT NULL DEFAULT 0"
        ),
    ]

    /// The longest wait of an entry, from before `ttl_ms` had its own column.
    private static let formerTTL = "expires_at - coalesce(not_before, created_at)"

    /// For files that are only read, of any version: the file's own columns take precedence over those added here.
    static let readableView = """
        CREATE TEMP VIEW outbox AS SELECT *, \(formerTTL) AS ttl_ms, NULL AS dispatch_skew_ms, 'own' AS mode, NULL AS joined_run,
            NULL AS deferred_at, NULL AS deferred_behind, 0 AS equals_before FROM main.outbox
        """
}
