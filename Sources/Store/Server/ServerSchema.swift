import SQL

/// The tables on a server: those of a file, with the same names and columns, and `head`.
///
/// Integers are `bigint`, also flags and times. Texts are compared by bytes, as in a file. Numbers that only Ladle moves are columns, never
/// sequences, which have holes after a rollback.
package enum ServerSchema {
    /// The number of this form of the tables and of what is in them.
    static let format: Int64 = 5

    /// Everything, in the order of its making. Each text is one statement.
    package static let statements = tables.map(typed) + indexes + totals + sessions + cluster + witnesses

    /// The statements that bring tables of an older format to this one.
    static func additions(since format: Int64) -> [String] {
        (format < 2 ? cluster : []) + (format < 3 ? witnesses : []) + (format < 4 ? deferrals : []) + equals
    }

    /// The columns of messages that wait at the gateway, which format 3 lacked.
    private static let deferrals = [
        "ALTER TABLE run ADD COLUMN may_be_strangers INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE outbox ADD COLUMN deferred_at INTEGER",
        "ALTER TABLE outbox ADD COLUMN deferred_behind INTEGER",
    ].map(typed)

    /// The equal messages before one that waits, which format 4 lacked.
    private static let equals = ["ALTER TABLE outbox ADD COLUMN equals_before INTEGER NOT NULL DEFAULT 0"].map(typed)

    /// The newest commits that hosts know of, which format 2 lacked.
    private static let witnesses = [
        "ALTER TABLE head ADD COLUMN made INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE lease ADD COLUMN synchronous INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE host ADD COLUMN log TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE host ADD COLUMN batch INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE host ADD COLUMN timeline INTEGER NOT NULL DEFAULT 0",
    ].map(typed)

    /// The tables of the hosts, which format 1 lacked. `lease` has one row, and no commit of the leader locks it, so a slow one delays no beat.
    static let cluster = [
        """
        CREATE TABLE lease(
            "only" INTEGER PRIMARY KEY CHECK("only" = 1), term INTEGER NOT NULL, beat INTEGER NOT NULL, holder TEXT,
            boot TEXT, wait_ms INTEGER NOT NULL, timeline INTEGER NOT NULL, since INTEGER NOT NULL,
            asked_term INTEGER NOT NULL) WITH (fillfactor = 10)
        """,
        """
        CREATE TABLE host(
            id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, updated_at INTEGER NOT NULL,
            has_key INTEGER NOT NULL
        ) WITH (fillfactor = 50)
        """,
        "CREATE TABLE secret(name TEXT PRIMARY KEY, sealed BLOB NOT NULL, updated_at INTEGER NOT NULL)",
    ].map(typed)

    /// `TEXT` is compared by bytes, whatever the language of the server is.
    private static func typed(_ table: String) -> String {
        table.replacing(" TEXT", with: " text COLLATE \"C\"").replacing(" INTEGER", with: " bigint")
            .replacing(" BLOB", with: " bytea").replacing(" REAL", with: " double precision")
    }

    static let names = [
        "event_log", "event", "event_session", "run", "run_step", "said", "message", "message_session", "value",
        "outbox",
        "outbox_payload", "outbox_attempt", "outbox_total", "receipt", "approval", "approval_link", "notification",
        "notification_delivery", "notification_echo", "token",
    ]

    /// The columns of a table, as its text names them.
    static func columns(of table: String) -> [(name: String, type: String, isKey: Bool)] {
        guard let text = tables.first(where: { $0.hasPrefix("CREATE TABLE \(table)(") }) else { return [] }
        let inside = text.drop { $0 != "(" }.dropFirst().split(separator: "PRIMARY KEY(", maxSplits: 1)
        let keys =
            inside.count > 1 ? inside[1].prefix { $0 != ")" }.split(separator: ",").map { $0.filter { $0 != " " } } : []
        let parts = (inside.first ?? "").split(separator: ",")
        return parts.compactMap { part in
            let words = part.split(whereSeparator: \.isWhitespace)
            guard words.count >= 2 else { return nil }
            let name = words[0].filter { $0 != "\"" }
            let type = String(words[1].prefix { $0.isLetter })
            return (name, type, keys.isEmpty ? part.contains("PRIMARY KEY") : keys.contains(name))
        }
    }

    private static let tables = [
        """
        CREATE TABLE head(
            "only" INTEGER PRIMARY KEY CHECK("only" = 1),
            term INTEGER NOT NULL,
            leader INTEGER NOT NULL,
            batch INTEGER NOT NULL,
            format INTEGER NOT NULL,
            host TEXT NOT NULL
        ) WITH (fillfactor = 10)
        """,
        """
        CREATE TABLE event_log(
            "only" INTEGER PRIMARY KEY CHECK("only" = 1), epoch TEXT NOT NULL, created_at INTEGER NOT NULL)
        """,
        """
        CREATE TABLE event(
            seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT NOT NULL, session TEXT, run TEXT, data BLOB NOT NULL,
            sum INTEGER)
        """,
        "CREATE TABLE event_session(session TEXT PRIMARY KEY, seq INTEGER NOT NULL)",
        """
        CREATE TABLE run(
            id TEXT PRIMARY KEY, session TEXT NOT NULL, state TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER,
            end_kind TEXT, text TEXT NOT NULL, error TEXT, continued_as TEXT, tokens_in INTEGER, tokens_out INTEGER,
            cache_read INTEGER, cache_write INTEGER, tokens INTEGER, cost REAL, may_return INTEGER NOT NULL DEFAULT 0,
            unanswered_since INTEGER, executed_again INTEGER NOT NULL DEFAULT 0, truncated INTEGER NOT NULL DEFAULT 0,
            put_aside INTEGER NOT NULL DEFAULT 0, begun_before INTEGER NOT NULL DEFAULT 0,
            handed_over INTEGER NOT NULL DEFAULT 0, may_be_strangers INTEGER NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE run_step(
            run TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, tool TEXT, call TEXT,
            category TEXT NOT NULL, label TEXT NOT NULL, detail TEXT, approval TEXT, state TEXT NOT NULL,
            started_at INTEGER NOT NULL, ended_at INTEGER, duration_ms INTEGER, exit_code INTEGER, error TEXT,
            PRIMARY KEY(run, seq))
        """,
        """
        CREATE TABLE said(
            seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, role TEXT NOT NULL, state TEXT NOT NULL,
            run TEXT, at INTEGER NOT NULL)
        """,
        """
        CREATE TABLE message(
            session TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, ordinal INTEGER NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY(session, id))
        """,
        """
        CREATE TABLE message_session(
            session TEXT PRIMARY KEY, as_of INTEGER NOT NULL, conversation TEXT, begun_at INTEGER)
        """,
        """
        CREATE TABLE value(
            space TEXT NOT NULL, name TEXT NOT NULL, updated_at INTEGER NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY(space, name))
        """,
        """
        CREATE TABLE outbox(
            ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, session TEXT NOT NULL,
            state TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, attempt_count INTEGER NOT NULL,
            next_attempt_at INTEGER, not_before INTEGER, expires_at INTEGER NOT NULL, run_id TEXT, proof TEXT,
            error_code TEXT, error_detail TEXT, version INTEGER NOT NULL, is_slash_command INTEGER NOT NULL,
            coalescing_key TEXT, upstream_key TEXT NOT NULL, key_generation INTEGER NOT NULL, last_class TEXT,
            first_dispatch_at INTEGER, dispatch_uptime_ms INTEGER, is_repeat_in_doubt INTEGER NOT NULL, owner TEXT,
            payload_bytes INTEGER NOT NULL, ttl_ms INTEGER NOT NULL DEFAULT 0, dispatch_skew_ms INTEGER,
            mode TEXT NOT NULL DEFAULT 'own', joined_run TEXT, deferred_at INTEGER, deferred_behind INTEGER,
            equals_before INTEGER NOT NULL DEFAULT 0)
        """,
        "CREATE TABLE outbox_payload(ordinal INTEGER PRIMARY KEY, text TEXT, body BLOB, files BLOB)",
        """
        CREATE TABLE outbox_attempt(
            entry TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, class TEXT NOT NULL, key TEXT NOT NULL,
            code TEXT, detail TEXT, delay_ms INTEGER, PRIMARY KEY(entry, number))
        """,
        """
        CREATE TABLE outbox_total(
            session TEXT NOT NULL, state TEXT NOT NULL, entries INTEGER NOT NULL, bytes INTEGER NOT NULL,
            PRIMARY KEY(session, state))
        """,
        """
        CREATE TABLE receipt(
            scope TEXT NOT NULL, key TEXT NOT NULL, body_hash BLOB NOT NULL, entry TEXT NOT NULL, created_at INTEGER NOT NULL,
            PRIMARY KEY(scope, key))
        """,
        """
        CREATE TABLE approval(
            id TEXT PRIMARY KEY, kind TEXT NOT NULL, session TEXT, created_at INTEGER NOT NULL, ended_at INTEGER,
            body BLOB NOT NULL)
        """,
        """
        CREATE TABLE approval_link(
            digest BLOB PRIMARY KEY, approval TEXT NOT NULL, decision TEXT NOT NULL, sender TEXT NOT NULL, token TEXT,
            question TEXT)
        """,
        """
        CREATE TABLE notification(
            ordinal INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
            rule TEXT NOT NULL, type TEXT NOT NULL, session TEXT, matter TEXT, at INTEGER NOT NULL,
            has_ended INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL)
        """,
        """
        CREATE TABLE notification_delivery(
            notification TEXT NOT NULL, sink TEXT NOT NULL, purpose TEXT NOT NULL, state TEXT NOT NULL,
            attempts INTEGER NOT NULL, due_at INTEGER NOT NULL, started_at INTEGER, updated_at INTEGER NOT NULL,
            status INTEGER, error TEXT, PRIMARY KEY(notification, sink))
        """,
        "CREATE TABLE notification_echo(entry TEXT PRIMARY KEY, at INTEGER NOT NULL)",
        """
        CREATE TABLE token(
            id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes INTEGER NOT NULL, sessions TEXT, created_at INTEGER NOT NULL,
            expires_at INTEGER, last_used_at INTEGER, digest BLOB NOT NULL UNIQUE, shown TEXT NOT NULL, paths TEXT, sum BLOB)
        """,
    ]

    private static let indexes = [
        "CREATE INDEX run_started ON run(started_at, id)",
        "CREATE INDEX run_session ON run(session, started_at, id)",
        "CREATE INDEX run_active ON run(started_at) WHERE ended_at IS NULL",
        "CREATE INDEX run_ended ON run(ended_at) WHERE ended_at IS NOT NULL",
        "CREATE INDEX run_given_up ON run(ended_at) WHERE end_kind = 'interrupted' AND continued_as IS NULL",
        "CREATE INDEX run_unanswered ON run(session, unanswered_since) WHERE unanswered_since IS NOT NULL",
        "CREATE INDEX said_session ON said(session, seq)",
        "CREATE INDEX said_unsent ON said(seq) WHERE role = 'user' AND state <> 'sent'",
        "CREATE INDEX message_order ON message(session, at, ordinal)",
        "CREATE INDEX message_session_age ON message_session(as_of)",
        "CREATE INDEX outbox_open ON outbox(ordinal) WHERE state NOT IN ('delivered', 'cancelled')",
        "CREATE INDEX outbox_done ON outbox(updated_at) WHERE state IN ('delivered', 'cancelled')",
        "CREATE INDEX outbox_session ON outbox(session, ordinal)",
        "CREATE INDEX outbox_run ON outbox(run_id) WHERE run_id IS NOT NULL",
        "CREATE INDEX outbox_stop ON outbox(updated_at) WHERE kind = 'abort'",
        "CREATE INDEX receipt_age ON receipt(created_at)",
        "CREATE INDEX approval_created ON approval(created_at, id)",
        "CREATE INDEX approval_session ON approval(session, created_at, id)",
        "CREATE INDEX approval_waiting ON approval(created_at) WHERE ended_at IS NULL",
        "CREATE INDEX approval_ended ON approval(ended_at) WHERE ended_at IS NOT NULL",
        "CREATE INDEX approval_link_approval ON approval_link(approval)",
        "CREATE UNIQUE INDEX notification_source ON notification(source, rule)",
        "CREATE INDEX notification_last ON notification(rule, type, session, at)",
        "CREATE INDEX notification_matter ON notification(matter) WHERE has_ended = 0",
        "CREATE INDEX notification_open ON notification_delivery(state) WHERE state IN ('pending', 'held')",
    ]

    /// The totals that triggers keep in a file, as functions.
    private static let totals = [
        """
        CREATE FUNCTION outbox_count(of_session text, of_state text, more bigint, more_bytes bigint) RETURNS void
        LANGUAGE sql AS $$
            INSERT INTO outbox_total VALUES(of_session, of_state, more, more_bytes), ('', of_state, more, more_bytes)
                ON CONFLICT(session, state) DO UPDATE SET entries = outbox_total.entries + excluded.entries,
                bytes = outbox_total.bytes + excluded.bytes;
            DELETE FROM outbox_total WHERE session = of_session AND state = of_state AND entries = 0;
        $$
        """,
        """
        CREATE FUNCTION outbox_changed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'INSERT' THEN PERFORM outbox_count(old.session, old.state, -1, -old.payload_bytes); END IF;
            IF TG_OP <> 'DELETE' THEN PERFORM outbox_count(new.session, new.state, 1, new.payload_bytes); END IF;
            IF TG_OP = 'DELETE' THEN
                DELETE FROM outbox_payload WHERE ordinal = old.ordinal;
                DELETE FROM outbox_attempt WHERE entry = old.id;
                DELETE FROM said WHERE id = old.id;
            END IF;
            RETURN NULL;
        END $$
        """,
        "CREATE TRIGGER outbox_added AFTER INSERT OR DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_changed()",
        """
        CREATE TRIGGER outbox_moved AFTER UPDATE ON outbox FOR EACH ROW
        WHEN (old.state <> new.state OR old.payload_bytes <> new.payload_bytes) EXECUTE FUNCTION outbox_changed()
        """,
    ]

    private static let sessions = [
        """
        CREATE FUNCTION event_added() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event_session VALUES(new.session, new.seq) ON CONFLICT(session) DO UPDATE SET seq = excluded.seq;
            RETURN NULL;
        END $$
        """,
        """
        CREATE TRIGGER event_added AFTER INSERT ON event FOR EACH ROW
        WHEN (new.session IS NOT NULL) EXECUTE FUNCTION event_added()
        """,
    ]
}
