import Basics
package import EventLoops
package import Outbox
import Store

/// Reads entries from the database.
package final class OutboxReader {
    package struct Query: Sendable {
        /// Nil means all sessions.
        package var sessions: [String?]
        /// Empty means all states.
        package var states: [OutboxState]
        /// The last entry of the previous page.
        package var before: String?
        package var limit: Int

        package init(sessions: [String?], states: [OutboxState], before: String?, limit: Int) {
            self.sessions = sessions
            self.states = states
            self.before = before
            self.limit = limit
        }
    }

    package struct Page: Sendable {
        /// The newest entry comes first.
        package let entries: [OutboxEntry]
        package let counts: OutboxCounts
    }

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// Reads a page; nil if `before` is not an entry of these sessions.
    package func page(_ query: Query, on loop: isolated EventLoop) async throws -> Page? {
        try await feed.read(on: loop) { tables -> Page? in
            let table = tables.outbox
            if let before = query.before {
                guard let entry = try table.entry(id: before),
                    query.sessions.admit(entry.session)
                else { return nil }
            }
            var (ofTable, counts, entries) = (OutboxTable.Query(), OutboxCounts(), [OutboxEntry]())
            ofTable.states = query.states
            ofTable.before = query.before
            ofTable.limit = query.limit
            for session in query.sessions {
                ofTable.session = session
                counts.add(try table.counts(session: session))
                entries += try table.list(ofTable)
            }
            entries.sort { $0.ordinal > $1.ordinal }
            return Page(entries: Array(entries.prefix(query.limit)), counts: counts)
        }
    }

    /// The most entries of a session that are compared with a repeated request.
    private static let mostRepeated = 100

    /// The newest message with the same session, sender and text; nil if there is none.
    package func newest(
        like message: NewMessage,
        on loop: isolated EventLoop,
        completion: @escaping (Result<OutboxEntry?, any Error>) -> Void
    ) {
        let newest = { @Sendable (tables: StoreTables) throws -> OutboxEntry? in
            var query = OutboxTable.Query()
            query.session = message.session
            query.limit = Self.mostRepeated
            return try tables.outbox.list(query).first { entry in
                entry.kind == .message && entry.owner == message.owner && entry.text == message.text
            }
        }
        feed.read(on: loop, newest, completion: completion)
    }

    /// One entry with its attempts; nil if it does not exist.
    package func read(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<(OutboxEntry, [OutboxAttempt])?, any Error>) -> Void
    ) {
        let entry = { @Sendable (tables: StoreTables) throws -> (OutboxEntry, [OutboxAttempt])? in
            let table = tables.outbox
            return try table.entry(id: id).map { ($0, try table.attempts(id: id)) }
        }
        feed.read(on: loop, entry, completion: completion)
    }
}

/// Figures of the outbox for the status screen and the metrics.
package struct OutboxSummary: Equatable {
    package var counts = OutboxCounts()
    /// Entries that wait because the gateway would acknowledge them and then not run them.
    package var refused = 0
    package var oldestAgeMilliseconds: Int64?
    /// Attempts since the start, by their outcome.
    package var attempts: [AttemptClass: UInt64] = [:]
    /// The reason why the saved entries could not be read. Until they are, nothing is sent, and the counts do not
    /// include them.
    package var fault: String?

    /// The reason why no message is accepted: the database cannot be written, or was set aside.
    package var closed: String?

    package init() {}
}
