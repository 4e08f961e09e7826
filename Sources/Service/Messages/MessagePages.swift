package import Basics
package import EventLoops
import Gateway
import Outbox
package import Runs
import Store

/// Pages of a conversation: from the gateway if it can be asked, otherwise from the cache; both include our own
/// messages that are still on their way.
package final class MessagePages {
    /// A position in the conversation: one of our cursors, or a message id.
    package struct Place: Sendable {
        let cursor: MessageCursor?
        let id: String

        package init?(_ text: String) {
            cursor = MessageCursor(text)
            id = cursor?.id ?? text
            guard cursor != nil || (!text.isEmpty && text.utf8.count <= 512) else { return nil }
        }

        /// Whether these messages include every newer one.
        func isReached(by messages: [ChatMessage]) -> Bool {
            if let cursor, let oldest = messages.first?.at, oldest < cursor.at { return true }
            return messages.contains { $0.id == id }
        }

        /// The index at which this position stands; 0 if the messages may not reach back to it.
        func index(in messages: [ChatMessage]) -> Int {
            if let index = messages.firstIndex(where: { $0.id == id }) { return index }
            guard let cursor else { return 0 }
            return messages.firstIndex { $0.at >= cursor.at } ?? messages.count
        }

        /// The position in the cache. A message that is not cached is placed by its time; nil if its time is unknown.
        func kept(
            _ table: MessageTable,
            _ session: String,
            _ entries: [OutboxEntry],
            isEnd: Bool
        ) throws -> MessageTable.Place? {
            if let place = try table.place(session: session, id: id) { return place }
            let entry = entries.first { $0.id == id }
            guard let at = entry?.createdAt ?? cursor?.at else { return nil }
            // A message of ours stands behind the rows of its millisecond.
            let place = MessageTable.Place(at: at, ordinal: isEnd && entry == nil ? .min : .max)
            // Before the oldest cached message, the messages that follow the place are missing too.
            if !isEnd, entry == nil, try table.list(session: session, before: place, limit: 1).isEmpty { return nil }
            return place
        }
    }

    package struct Query: Sendable {
        package let session: String
        package let limit: Int
        package let before: Place?
        package let after: Place?

        package init(session: String, limit: Int, before: Place?, after: Place?) {
            self.session = session
            self.limit = limit
            self.before = before
            self.after = after
        }

        func isEnough(_ messages: [ChatMessage]) -> Bool {
            if let before { return before.index(in: messages) >= limit }
            if let after { return after.isReached(by: messages) }
            return messages.count >= limit
        }
    }

    package struct Page: Sendable {
        /// Oldest first.
        package let messages: [ChatMessage]
        /// The positions of the older and the newer page; nil if there is none.
        package var before: MessageCursor?
        package var after: MessageCursor?
        /// False for a page from the cache, because the gateway is away or takes long.
        package let isLive: Bool
        /// The time the cache was written; nil if it never was.
        package var asOf: Timestamp?
    }

    package enum Fault: Error {
        /// The parameter `before` or `after` names no known message.
        case noPlace(String)
        case service(ServiceFault)
    }

    /// The longest time between a message's delivery and its row in the transcript.
    private static let lagMilliseconds: Int64 = 60_000

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let messages: MessageReader
    private let conversations: Conversations

    init(gateway: any GatewayCalls, feed: EventFeed, messages: MessageReader, conversations: Conversations) {
        self.gateway = gateway
        self.feed = feed
        self.messages = messages
        self.conversations = conversations
    }

    /// - Parameter refresh: whether to ask the gateway in any case, and to wait for it.
    package func read(
        _ query: Query,
        refresh: Bool = false,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        guard gateway.isOnline else { return try await kept(query, on: loop) }
        if refresh {
            messages.changed(query.session, on: loop)
            return try await ask(query, on: loop)
        }
        return try await loop.wait { askPatiently(query, on: loop, completion: $0) }.get()
    }

    /// Asks the gateway, and gives a kept page where that takes long.
    private func askPatiently(
        _ query: Query,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Page, Fault>) -> Void
    ) {
        let kept = { [self] (give: @escaping (Result<Page, Fault>?) -> Void) in
            loop.start {
                let page = try? await self.kept(query, on: loop)
                give(page.flatMap { $0.asOf == nil ? nil : .success($0) })
            }
        }
        let first = FirstAnswer(on: loop, kept: kept, completion: completion)
        loop.start { [self] in
            first.give(await Result { () async throws(Fault) in try await ask(query, on: loop) }, on: loop)
        }
    }

    private func ask(_ query: Query, on loop: isolated EventLoop) async throws(Fault) -> Page {
        let page: MessageReader.Page
        do throws(MessageReader.Fault) {
            let isEnough = { (page: MessagePage) in query.isEnough(page.messages) }
            page = try await messages.history(query.session, messages: query.limit, isEnough: isEnough, on: loop)
        } catch {
            switch error {
            case .store(let error): throw .service(.store(error))
            case .call(.gateway(let error, let payload)) where !error.requiredScopes.isEmpty:
                throw .service(.gateway(GatewayFault(.gateway(error, payload: payload), over: gateway)))
            case .call: return try await kept(query, on: loop)
            }
        }
        return try live(page, query, on: loop)
    }

    /// One message, whole if the gateway gives it; nil if the session has none of this id that Ladle can find.
    package func find(
        _ id: String,
        in session: String,
        on loop: isolated EventLoop
    ) async throws(ServiceFault) -> ChatMessage? {
        let known = try? await feed.read(on: loop) { try $0.messages.message(session: session, id: id) }
        if let known = known ?? nil, !known.isTruncated { return known }
        do throws(MessageReader.Fault) {
            let isThere = { (page: MessagePage) in page.messages.contains { $0.id == id } }
            let page = try await messages.history(session, messages: Self.searched, isEnough: isThere, on: loop)
            return page.page.messages.first { $0.id == id }
        } catch {
            switch error {
            case .store(let error): throw .store(error)
            case .call(let failure): throw .gateway(GatewayFault(failure, over: gateway))
            }
        }
    }

    /// A message that is spoken of is among the newest; if it is not, all that the gateway returns at once are looked through.
    private static let searched = 50

    // MARK: From the gateway

    private func live(
        _ page: MessageReader.Page,
        _ query: Query,
        on loop: isolated EventLoop
    ) throws(Fault) -> Page {
        var messages = page.page.messages
        let lag = loop.wallClock.adding(milliseconds: -Self.lagMilliseconds)
        let missing = MissingEntries(
            notIn: Set(messages.map(\.id)),
            page.sent,
            since: messages.last.map { max($0.at, lag) } ?? lag,
            begun: conversations.begun(in: query.session),
            clockSkewMs: gateway.clockSkewMs(on: loop)
        )
        let first = page.hasOlder ? messages.first.map { MessageCursor($0) } : nil
        messages = missing.ended(among: messages, from: first) + missing.waiting
        // The messages between `after` and the oldest of these would be missing without notice.
        if let after = query.after, query.before == nil, page.hasOlder, !after.isReached(by: messages) {
            throw .noPlace("after")
        }
        let slice = MessagePage.slice(
            of: messages,
            limit: query.limit,
            before: try Self.cursor(query.before, "before", in: messages),
            after: try Self.cursor(query.after, "after", in: messages),
            hasOlder: page.hasOlder
        )
        return Page(messages: Array(slice.messages), before: slice.before, after: slice.after, isLive: true)
    }

    private static func cursor(
        _ place: Place?,
        _ name: String,
        in messages: [ChatMessage]
    ) throws(Fault) -> MessageCursor? {
        guard let place else { return nil }
        if let cursor = place.cursor { return cursor }
        guard let message = messages.first(where: { $0.id == place.id }) else { throw .noPlace(name) }
        return MessageCursor(message)
    }

    // MARK: While the gateway is away

    private struct Kept: Sendable {
        let messages: [ChatMessage]
        /// The places `after` and `before`.
        let start: MessageCursor?
        let end: MessageCursor?
        /// Our messages in the cache, whether or not they are among these.
        let known: Set<String>
        let asOf: Timestamp?
        let sent: SentEntries
    }

    private enum Found: Sendable {
        case kept(Kept)
        case noPlace(String)
    }

    private func kept(_ query: Query, on loop: isolated EventLoop) async throws(Fault) -> Page {
        let found: Found
        do {
            found = try await read(query, on: loop)
        } catch {
            throw .service(.store(error))
        }
        switch found {
        case .kept(let kept): return page(kept, query)
        case .noPlace(let name): throw .noPlace(name)
        }
    }

    private func read(_ query: Query, on loop: isolated EventLoop) async throws -> Found {
        try await feed.read(on: loop) { tables -> Found in
            let (table, session) = (tables.messages, query.session)
            var sent = try SentEntries.read(tables, session: session)
            try sent.readOutcomes(tables)
            let end = try query.before?.kept(table, session, sent.entries, isEnd: true)
            if query.before != nil, end == nil { return .noPlace("before") }
            let start = try query.after?.kept(table, session, sent.entries, isEnd: false)
            if query.after != nil, start == nil { return .noPlace("after") }
            // One more than requested tells whether there are more.
            let messages = try table.list(session: session, before: end, after: start, limit: query.limit + 1)
            let known = try sent.entries.filter {
                try $0.kind == .message && table.place(session: session, id: $0.id) != nil
            }
            return .kept(
                Kept(
                    messages: messages,
                    start: start.map { MessageCursor(at: $0.at, id: query.after?.id ?? "") },
                    end: end.map { MessageCursor(at: $0.at, id: query.before?.id ?? "") },
                    known: Set(known.map(\.id)),
                    asOf: try table.asOf(session: session),
                    sent: sent
                )
            )
        }
    }

    private func page(_ found: Kept, _ query: Query) -> Page {
        let limit = query.limit
        let isForward = query.after != nil && query.before == nil
        let shown = Array(isForward ? found.messages.prefix(limit) : found.messages.suffix(limit))
        var hasMore = found.messages.count > limit
        let missing = MissingEntries(
            notIn: found.known,
            found.sent,
            since: found.asOf ?? shown.last?.at,
            begun: conversations.begun(in: query.session)
        )
        let oldest = hasMore ? shown.first.map { MessageCursor($0) } : nil
        let newest = hasMore ? shown.last.map { MessageCursor($0) } : nil
        var messages = missing.ended(
            among: shown,
            from: isForward ? found.start : oldest ?? found.start,
            before: isForward ? newest : found.end
        )
        var waiting = query.before == nil ? missing.waiting : []
        if let after = query.after, let place = waiting.firstIndex(where: { $0.id == after.id }) {
            // Behind a message on its way stand only others on their way.
            messages.removeAll()
            waiting.removeFirst(place + 1)
            hasMore = false
        }
        if isForward {
            hasMore = hasMore || messages.count + waiting.count > limit
            messages = Array(messages.prefix(limit))
            waiting = Array(waiting.prefix(limit - messages.count))
        } else {
            // At least one message stays, since it marks the start of the previous page.
            waiting = waiting.suffix(limit)
            let room = max(limit - waiting.count, 1)
            hasMore = hasMore || messages.count > room
            messages = messages.suffix(room)
        }
        let all = messages + waiting
        return Page(
            messages: all,
            before: isForward || !hasMore ? nil : messages.first.map { MessageCursor($0) },
            after: isForward && hasMore ? all.last.map { MessageCursor($0) } : nil,
            isLive: false,
            asOf: found.asOf
        )
    }
}
