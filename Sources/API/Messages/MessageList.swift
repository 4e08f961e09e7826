import Access
import Basics
import EventLoops
import Gateway
import HTTPModel
import JSONBytes
import Outbox
import ReadableText
import Runs
import Server
import Service
import Store
import Upstream

/// `GET /v1/messages`: from the gateway where it can be asked, from the cache where not, and in both with our own
/// messages that are still on their way.
final class MessageList {
    /// Entries of the session that may stand for messages not in the transcript yet.
    private static let entriesLookedAt = 200

    private let api: HTTPAPI
    private let call: Call
    private let session: String
    private let limit: Int
    private let before: Place?
    private let after: Place?

    /// A cursor of ours, or the id of a message.
    private struct Place {
        var cursor: MessageCursor?
        var id: String

        /// Whether all that is newer is among them.
        func isReached(by messages: [ChatMessage]) -> Bool {
            if let cursor, let oldest = messages.first?.at, oldest < cursor.at { return true }
            return messages.contains { $0.id == id }
        }

        /// Where it is in the cache, also of a message that is not kept, by its time; nil where nothing tells.
        func kept(
            _ table: MessageTable,
            _ session: String,
            _ entries: [OutboxEntry],
            isEnd: Bool
        ) throws -> MessageTable.Place? {
            if let place = try table.place(session: session, id: id) { return place }
            let entry = entries.first { $0.id == id }
            guard let at = entry?.createdAt ?? cursor?.at else { return nil }
            let place = MessageTable.Place(at: at, ordinal: isEnd ? .min : .max)
            // What was next to a place older than all that is kept is not there either.
            if !isEnd, entry == nil, try table.list(session: session, before: place, limit: 1).isEmpty { return nil }
            return place
        }
    }

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            try MessageList(api, call).start(on: loop)
        } catch {
            call.fail(error, on: loop)
        }
    }

    private init(_ api: HTTPAPI, _ call: Call) throws(Problem) {
        self.api = api
        self.call = call
        session = try api.session(named: call.text("session") ?? "main", "session")
        limit = try call.number("limit", in: 1...500, default: 50)
        before = try Self.place("before", call)
        after = try Self.place("after", call)
        guard call.caller.mayUse(session: session) else { throw Problem(.foreignSession) }
    }

    private static func place(_ name: String, _ call: Call) throws(Problem) -> Place? {
        guard let text = call.text(name) else { return nil }
        if let cursor = MessageCursor(text) { return Place(cursor: cursor, id: cursor.id) }
        guard !text.isEmpty, text.utf8.count <= 512 else {
            throw .badParameter(name, "`\(name)` is a place as an earlier answer gave it, or the id of a message.")
        }
        return Place(cursor: nil, id: text)
    }

    private func start(on loop: isolated EventLoop) {
        guard api.link.isOnline else { return readCache(on: loop) }
        api.messages.history(
            session,
            messages: limit,
            isEnough: { [self] page in isEnough(page.messages) },
            on: loop
        ) { [self] result in
            switch result {
            case .success(let page): readEntries(page, on: loop)
            case .failure(.gateway(let error, _)) where !error.requiredScopes.isEmpty:
                call.fail(Problem(.gateway(error, payload: nil), for: "read messages", over: api.link), on: loop)
            case .failure: readCache(on: loop)
            }
        }
    }

    private func isEnough(_ messages: [ChatMessage]) -> Bool {
        if let before {
            guard let place = messages.firstIndex(where: { $0.id == before.id }) else { return false }
            return place >= limit
        }
        if let after { return after.isReached(by: messages) }
        return messages.count >= limit
    }

    // MARK: Our own messages

    private func readEntries(_ page: MessageService.Page, on loop: isolated EventLoop) {
        var query = OutboxTable.Query()
        query.session = session
        query.limit = Self.entriesLookedAt
        let bound = LoopBound(self, on: loop)
        api.feed.journal.read { [query] tables in
            try tables.outbox.list(query)
        } completion: { [weak loop] result in
            loop?.post { loop in
                // Without the outbox the transcript is still true.
                let entries = (try? result.get()) ?? []
                bound.value(on: loop)?.answer(page, entries, on: loop)
            }
        }
    }

    private func answer(_ page: MessageService.Page, _ entries: [OutboxEntry], on loop: isolated EventLoop) {
        var messages = TranscriptMerge.named(page.page.messages, entries)
        messages += TranscriptMerge.missing(in: messages, entries, asOf: nil)
        do throws(Problem) {
            // What lies between the place and the oldest of them would be left out without a word.
            if let after, before == nil, page.hasOlder, !after.isReached(by: messages) {
                throw .noPlace("after", "message")
            }
            let slice = try slice(messages, hasOlder: page.hasOlder)
            respond(slice.messages.map(\.json), slice.before, slice.after, asOf: nil, on: loop)
        } catch {
            call.fail(error, on: loop)
        }
    }

    private func slice(_ messages: [ChatMessage], hasOlder: Bool) throws(Problem) -> MessagePage.Slice {
        MessagePage.slice(
            of: messages,
            limit: limit,
            before: try cursor(before, "before", in: messages),
            after: try cursor(after, "after", in: messages),
            hasOlder: hasOlder
        )
    }

    private func cursor(_ place: Place?, _ name: String, in messages: [ChatMessage]) throws(Problem) -> MessageCursor? {
        guard let place else { return nil }
        if let cursor = place.cursor { return cursor }
        guard let message = messages.first(where: { $0.id == place.id }) else { throw .noPlace(name, "message") }
        return MessageCursor(message)
    }

    // MARK: While the gateway is away

    private func readCache(on loop: isolated EventLoop) {
        var query = OutboxTable.Query()
        query.session = session
        query.limit = Self.entriesLookedAt
        let (session, limit, before, after) = (session, limit, before, after)
        let bound = LoopBound(self, on: loop)
        api.feed.journal.read { [query] tables in
            let table = tables.messages
            let entries = try tables.outbox.list(query)
            let end = try before?.kept(table, session, entries, isEnd: true)
            if before != nil, end == nil { return .failure(.noPlace("before", "message")) }
            let start = try after?.kept(table, session, entries, isEnd: false)
            if after != nil, start == nil { return .failure(.noPlace("after", "message")) }
            // One more than asked for tells whether there is more.
            let rows = try table.list(session: session, before: end, after: start, limit: limit + 1)
            return .success((rows, try table.asOf(session: session), entries))
        } completion: { [weak loop] (result: Result<Result<Kept, Problem>, any Error>) in
            loop?.post { loop in
                guard let this = bound.value(on: loop) else { return }
                switch result {
                case .success(.success((let rows, let asOf, let entries))): this.answer(rows, asOf, entries, on: loop)
                case .success(.failure(let problem)): this.call.fail(problem, on: loop)
                case .failure(let error): this.call.fail(.storage(error), on: loop)
                }
            }
        }
    }

    private typealias Kept = (rows: [StoredMessage], asOf: Timestamp?, entries: [OutboxEntry])

    private func answer(
        _ rows: [StoredMessage],
        _ asOf: Timestamp?,
        _ entries: [OutboxEntry],
        on loop: isolated EventLoop
    ) {
        let isForward = after != nil && before == nil
        var kept = isForward ? Array(rows.prefix(limit)) : Array(rows.suffix(limit))
        var hasMore = rows.count > limit
        var own: [ChatMessage] = []
        if before == nil, !(isForward && hasMore) {
            let shown = kept.compactMap { ChatMessage(cached: $0.body) }
            own = TranscriptMerge.missing(in: shown, entries, asOf: asOf)
            if let after, let place = own.firstIndex(where: { $0.id == after.id }) { own.removeFirst(place + 1) }
            own = own.suffix(limit)
            // One kept message stays in any case: the place of the page before is named by it.
            let room = max(limit - own.count, 1)
            if !isForward, kept.count > room {
                kept = Array(kept.suffix(room))
                hasMore = true
            }
        }
        let json = kept.map(\.body) + own.map(\.json)
        let older = kept.first.flatMap { !isForward && hasMore ? MessageCursor(at: $0.at, id: $0.id) : nil }
        let newer = kept.last.flatMap { isForward && hasMore ? MessageCursor(at: $0.at, id: $0.id) : nil }
        respond(json, older, newer, asOf: asOf ?? api.startedAt, on: loop)
    }

    // MARK: The answer

    static func text(_ messages: [[UInt8]], asOf: Timestamp?) -> String {
        var lines = asOf.map { ["# as of \($0.rfc3339): the gateway is away"] } ?? []
        for bytes in messages {
            guard let message = try? JSONDocument(parsing: bytes, limits: .gateway).root else { continue }
            lines += MessageText.lines(message, at: message["at"]?.string ?? "", .plain)
        }
        return lines.isEmpty ? "no messages\n" : lines.joined(separator: "\n") + "\n"
    }

    /// - Parameter asOf: nil for what the gateway says now.
    private func respond(
        _ messages: [[UInt8]],
        _ before: MessageCursor?,
        _ after: MessageCursor?,
        asOf: Timestamp?,
        on loop: isolated EventLoop
    ) {
        guard !call.wantsText else {
            return call.respondTagged(.text(.ok, Self.text(messages, asOf: asOf)), on: loop)
        }
        let session = session
        call.respondTagged(
            .json { writer in
                writer.object { object in
                    object.member("session", session)
                    object.array("messages") { list in
                        for message in messages { list.raw(message) }
                    }
                    object.member("before", before?.text)
                    object.member("after", after?.text)
                    object.member("live", asOf == nil)
                    object.member("asOf", asOf)
                }
            },
            on: loop
        )
    }
}

extension ChatMessage {
    var json: [UInt8] {
        var writer = JSONWriter(capacity: text.utf8.count + 256)
        write(to: &writer)
        return writer.bytes
    }

    /// The parts of a cached message that the readable form and the matching of entries need.
    init?(cached bytes: [UInt8]) {
        guard let value = try? JSONDocument(parsing: bytes).root, let id = value["id"]?.string,
            let role = value["role"]?.string.flatMap(Role.init(rawValue:)),
            let at = value["at"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(
            id: id,
            role: role,
            text: value["text"]?.string ?? "",
            at: at,
            state: value["state"]?.string.flatMap(State.init(rawValue:)) ?? .sent,
            runID: value["runId"]?.string,
            error: value["error"]?.string
        )
    }
}
