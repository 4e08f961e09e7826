package import Basics
package import Outbox
package import Runs
package import SQL

/// The newest chat messages on the event stream, without their texts, each in the state in which it was published last. Written in the
/// transactions of their events, so that a start need not read the log.
package struct SaidTable {
    /// As many as a start reads, and as many again.
    static let kept = 2_000
    /// As many as a page of a session may have.
    private static let ofSession = 1_000
    /// More than people say in the seconds by which a row may seem to be newer than it is.
    private static let earlier = 50

    package struct Said: Sendable {
        /// The number of the event.
        package let sequence: Int64
        package let session: SessionKey
        /// The text is left out.
        package let message: ChatMessage
    }

    private let connection: SQLConnection
    private let sequence: Int64

    /// - Parameter sequence: the number of the event that is written next.
    init(_ connection: SQLConnection, sequence: Int64 = 0) {
        self.connection = connection
        self.sequence = sequence
    }

    /// Saves the message that the next event publishes. An answer is taken for that of all runs of its session that have ended.
    package func save(_ message: ChatMessage, session: String) throws(SQLError) {
        try connection.run(
            "INSERT INTO said(seq, id, session, role, state, run, at) VALUES(?, ?, ?, ?, ?, ?, ?) "
                + "ON CONFLICT(id) DO UPDATE SET seq = excluded.seq, session = excluded.session, role = excluded.role, "
                + "state = excluded.state, run = excluded.run, at = excluded.at",
            sequence,
            message.id,
            session,
            message.role.rawValue,
            message.state.rawValue,
            message.runID,
            message.at.milliseconds
        )
        if message.role != .user { try RunTable(connection).answered(in: session) }
    }

    /// The messages published last, newest first.
    package func newest(_ limit: Int) throws(SQLError) -> [Said] {
        try connection.all(
            "SELECT seq, session, id, role, state, run, at FROM said ORDER BY seq DESC LIMIT ?",
            limit
        ) { row in
            guard let role = ChatMessage.Role(rawValue: row.string(3)),
                let state = ChatMessage.State(rawValue: row.string(4))
            else { return nil }
            let message = ChatMessage(
                id: row.string(2),
                role: role,
                text: "",
                at: Timestamp(milliseconds: row.int64(6)),
                state: state,
                runID: row.optionalString(5)
            )
            return Said(sequence: row.int64(0), session: SessionKey(canonical: row.string(1)), message: message)
        }.compactMap(\.self)
    }

    /// The runs that the newest messages of the session have on the stream, by message.
    package func runs(in session: String) throws(SQLError) -> [String: String] {
        var found: [String: String] = [:]
        try connection.forEach(
            "SELECT id, run FROM said WHERE session = ? AND run IS NOT NULL ORDER BY seq DESC LIMIT ?",
            session,
            Self.ofSession
        ) { row in
            found[row.string(0)] = row.string(1)
        }
        return found
    }

    /// The newest messages of people in the session that were on the stream before this time.
    package func ofPeople(in session: String, before time: Timestamp) throws(SQLError) -> Set<String> {
        let found = try connection.all(
            "SELECT id FROM said JOIN event USING(seq) WHERE said.session = ? AND role = 'user' AND event.at < ? "
                + "ORDER BY seq DESC LIMIT ?",
            session,
            time.milliseconds,
            Self.earlier
        ) { row in row.string(0) }
        return Set(found)
    }

    /// Entries whose messages were not published as sent, each with the state in which its message was published, if it was.
    package func unsent() throws(SQLError) -> [(entry: OutboxEntry, said: ChatMessage.State?)] {
        try connection.all(Self.unsent) { row throws(SQLError) in
            let entry = try OutboxRow.entry(row)
            return (entry, row.optionalString(OutboxRow.columnCount).flatMap(ChatMessage.State.init(rawValue:)))
        }
    }

    static let unsent = """
        SELECT \(OutboxRow.columns), s.state FROM outbox o LEFT JOIN said s ON s.id = o.id
        WHERE o.state NOT IN ('delivered', 'cancelled') AND o.kind = 'message'
        UNION ALL SELECT \(OutboxRow.columns), s.state FROM said s JOIN outbox o ON o.id = s.id
        WHERE s.role = 'user' AND s.state <> 'sent' AND o.state = 'delivered'
        """

    /// Of the entries that changed last, those whose messages were published as sent with a run that is no longer theirs.
    package func sentWithAnotherRun(ofNewest limit: Int) throws(SQLError) -> [OutboxEntry] {
        let newest = "SELECT id FROM outbox WHERE state IN ('delivered', 'cancelled') ORDER BY updated_at DESC LIMIT ?"
        return try connection.all(
            "SELECT \(OutboxRow.columns) FROM (\(newest)) n JOIN outbox o ON o.id = n.id JOIN said s ON s.id = o.id "
                + "WHERE o.state = 'delivered' AND s.role = 'user' AND s.state = 'sent' "
                + "AND s.run <> coalesce(o.run_id, o.joined_run)",
            limit,
            row: OutboxRow.entry
        )
    }

    /// Deletes older messages. One of ours that was not published as sent goes with its entry.
    func prune() throws(SQLError) {
        try connection.run(
            "DELETE FROM said WHERE seq < (SELECT seq FROM said ORDER BY seq DESC LIMIT 1 OFFSET ?) "
                + "AND (role <> 'user' OR state = 'sent')",
            Self.kept
        )
    }
}
