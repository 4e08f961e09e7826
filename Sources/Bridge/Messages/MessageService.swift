import Activity
import Basics
import Store
import EventLoops
import JSONBytes
import Outbox
import Gateway
import Upstream

/// Chat messages: read from the gateway's history, kept for when it is away, told on the stream as they become known.
final class MessageService {
    /// Rows asked for a page of messages: tools and housekeeping take rows that are none.
    private static let rowsPerMessage = 4
    private static let fewestRows = 100
    /// A transcript may lag a moment behind the end of its run.
    private static let secondLookMilliseconds: Int64 = 700
    private static let rowsAfterRun = 60
    private static let mostRemembered = 4096
    /// Sessions that are looked into after a break.
    private static let mostReloaded = 16

    private let link: UpstreamLink
    private let pipeline: EventPipeline
    private let desk: GatewayEvents
    /// The last page saved of each session, to write it once.
    private var saved: [String: UInt64] = [:]
    /// Messages told of, with the state they were told in.
    private var told: [String: ChatMessage.State] = [:]
    private var reloading: Set<SessionKey> = []

    init(link: UpstreamLink, pipeline: EventPipeline, desk: GatewayEvents) {
        self.link = link
        self.pipeline = pipeline
        self.desk = desk
    }

    // MARK: History

    struct Page {
        let page: MessagePage
        /// The gateway may hold older rows than these.
        let hasOlder: Bool
    }

    /// As many of the newest messages as are wanted, with whatever rows that takes.
    func history(
        _ session: String,
        messages wanted: Int,
        isEnough: @escaping (MessagePage) -> Bool,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, CallFailure>) -> Void
    ) {
        let rows = max(Self.fewestRows, wanted * Self.rowsPerMessage)
        ask(session, rows: min(rows, ChatHistory.limits.upperBound), isEnough: isEnough, on: loop, then: use)
    }

    private func ask(
        _ session: String,
        rows: Int,
        isEnough: @escaping (MessagePage) -> Bool,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, CallFailure>) -> Void
    ) {
        link.call(ChatHistory(sessionKey: session, limit: rows), on: loop) { [self] result in
            switch result {
            case .failure(let failure): use(.failure(failure))
            case .success(let output):
                let page = page(output.whole, session, now: loop.wallClock)
                let hasOlder = page.rowCount >= rows
                let most = ChatHistory.limits.upperBound
                if hasOlder, rows < most, !isEnough(page) {
                    return ask(session, rows: most, isEnough: isEnough, on: loop, then: use)
                }
                save(page.messages, session, on: loop)
                use(.success(Page(page: page, hasOlder: hasOlder)))
            }
        }
    }

    private func page(_ payload: JSONValue, _ session: String, now: Timestamp) -> MessagePage {
        let entries = Self.entries(in: payload["messages"])
        return desk.reading { book in
            MessagePage(
                history: payload,
                session: SessionKey(canonical: session),
                book: book,
                entries: entries,
                now: now
            )
        }
    }

    /// Our keys among those that the rows show, each with its entry.
    private static func entries(in rows: JSONValue?) -> [String: String] {
        var entries: [String: String] = [:]
        guard let rows else { return entries }
        for row in rows.elements { note(row, in: &entries) }
        return entries
    }

    private static func note(_ row: JSONValue, in entries: inout [String: String]) {
        let written = row["idempotencyKey"]?.string ?? row["__openclaw"]?["idempotencyKey"]?.string
        guard let written else { return }
        let key = OutboxEntry.bareKey(written)
        let id = OutboxEntry.entryID(ofKey: key)
        if UUIDv7.isWellFormed(id) { entries[key] = id }
    }

    // MARK: The cache

    private func save(_ messages: [ChatMessage], _ session: String, on loop: isolated EventLoop) {
        guard !messages.isEmpty else { return }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var rows: [StoredMessage] = []
        for (place, message) in messages.enumerated() {
            let row = Self.row(message, session, ordinal: Int64(place))
            for byte in row.body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            rows.append(row)
        }
        guard saved[session] != hash else { return }
        if saved.count > Self.mostRemembered { saved.removeAll() }
        saved[session] = hash
        store(rows, session, now: loop.wallClock)
    }

    private func store(_ rows: [StoredMessage], _ session: String, now: Timestamp) {
        let cost = rows.reduce(512) { $0 + $1.body.count }
        // A cache: a failed write loses nothing that the gateway does not have.
        pipeline.store.submit(cost: cost) { transaction in
            try transaction.messages.save(rows, session: session, asOf: now)
        } completion: { _ in
        }
    }

    private static func row(_ message: ChatMessage, _ session: String, ordinal: Int64) -> StoredMessage {
        var writer = JSONWriter(capacity: message.text.utf8.count + 256)
        message.write(to: &writer)
        return StoredMessage(session: session, id: message.id, at: message.at, ordinal: ordinal, body: writer.bytes)
    }

    /// The session was reset or deleted upstream.
    func forget(_ session: String) {
        saved[session] = nil
        pipeline.store.submit { transaction in
            try transaction.messages.removeAll(session: session)
        } completion: { _ in
        }
    }

    // MARK: Events

    /// A message of ours: on its way, arrived, or given up. One that was taken back was never said.
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard entry.kind == .message, let state = ChatMessage.State(entry.state), told[entry.id] != state,
            !desk.isHidden(entry.id)
        else { return }
        if let text = entry.text { return tell(ChatMessage(entry, text: text), entry.session, on: loop) }
        // Entries of an earlier process are in memory without their words.
        let id = entry.id
        let bound = LoopBound(self, on: loop)
        pipeline.store.reader.read { connection in
            try OutboxTable(connection).payload(id: id)?.text
        } completion: { [weak loop] result in
            loop?.post { loop in
                guard let text = try? result.get() else { return }
                bound.value(on: loop)?.tell(ChatMessage(entry, text: text), entry.session, on: loop)
            }
        }
    }

    /// What a run said, under the ids that its transcript has.
    func runEnded(_ run: Run, on loop: isolated EventLoop) {
        lookAfter(run, isLast: false, on: loop)
    }

    private func lookAfter(_ run: Run, isLast: Bool, on loop: isolated EventLoop) {
        guard link.isOnline else { return }
        let session = run.session.text
        link.call(ChatHistory(sessionKey: session, limit: Self.rowsAfterRun), on: loop) { [weak self] result in
            guard let self, case .success(let output) = result else { return }
            let page = self.page(output.whole, session, now: loop.wallClock)
            let own = page.messages.filter { $0.runID.map(self.desk.resolved) == run.id && $0.role != .user }
            if own.isEmpty, !run.text.isEmpty || run.error != nil, !isLast {
                loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                    self?.lookAfter(run, isLast: true, on: loop)
                }
                return
            }
            for message in page.messages where message.runID.map(self.desk.resolved) == run.id {
                self.tell(message, session, on: loop)
            }
            if own.isEmpty, isLast { self.tell(ChatMessage(run), session, on: loop) }
        }
    }

    /// What people write through other clients is heard at once where the gateway tells it.
    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard event.name == "session.message", let payload = event.payload, let row = payload["message"],
            row["role"]?.equals("user") ?? false, let key = payload["sessionKey"]?.string
        else { return }
        let session = desk.canonical(key)
        var entries: [String: String] = [:]
        Self.note(row, in: &entries)
        guard entries.isEmpty else { return }
        let message = desk.reading { book in
            MessagePage.message(event: payload, session: session, book: book, now: loop.wallClock)
        }
        if let message { tell(message, session.text, on: loop) }
    }

    /// What was said unheard, by whomever. A turn under way is told at its end.
    func reload(since: Timestamp, on loop: isolated EventLoop) {
        for session in desk.reading({ $0.recentSessions(Self.mostReloaded) }) where reloading.insert(session).inserted {
            let key = session.text
            link.call(ChatHistory(sessionKey: key, limit: Self.rowsAfterRun), on: loop) { [weak self] result in
                guard let self else { return }
                self.reloading.remove(session)
                guard case .success(let output) = result else { return }
                let page = self.page(output.whole, key, now: loop.wallClock)
                for message in page.settled where message.at >= since && !self.isUnderWay(message) {
                    self.tell(message, key, on: loop)
                }
            }
        }
    }

    private func isUnderWay(_ message: ChatMessage) -> Bool {
        message.runID.flatMap { desk.run($0) }?.state.isActive ?? false
    }

    private func tell(_ message: ChatMessage?, _ session: String, on loop: isolated EventLoop) {
        guard let message, told[message.id] != message.state else { return }
        // Told as arrived: what a page shows of it later is no news.
        if told[message.id] == .sent, message.state == .sending { return }
        if told.count > Self.mostRemembered { told.removeAll() }
        told[message.id] = message.state
        let row = Self.row(message, session, ordinal: 0)
        let isLasting = message.state == .sent
        let now = loop.wallClock
        pipeline.publish("message", session: session, run: message.runID, on: loop) { object in
            object.member("message", raw: row.body)
        } also: { transaction in
            if isLasting { try transaction.messages.save([row], session: session, asOf: now) }
        }
    }
}

extension ChatMessage {
    /// A message in the outbox as people see it.
    init?(_ entry: OutboxEntry, text: String) {
        guard !Housekeeping.isPrompt(text) else { return nil }
        // One of attachments alone is shown once the transcript has it: what they are is not in the entry.
        guard let state = State(entry.state), !text.isEmpty || state == .failed else { return nil }
        self.init(
            id: entry.id,
            role: .user,
            text: text,
            at: entry.createdAt,
            state: state,
            runID: entry.runID,
            error: state == .failed ? entry.fault?.detail : nil
        )
    }

    /// What a run said where no transcript shows it.
    init?(_ run: Run) {
        guard !run.text.isEmpty || run.error != nil, !Housekeeping.isAnswer(run.text) else { return nil }
        self.init(
            id: run.id + ":assistant",
            role: .assistant,
            text: run.text,
            at: run.endedAt ?? run.startedAt,
            state: run.error == nil ? .sent : .failed,
            runID: run.id,
            error: run.error
        )
    }
}

extension ChatMessage.State {
    /// nil for what was taken back, and so never said.
    init?(_ state: OutboxState) {
        switch state {
        case .queued, .sending, .retrying, .accepted, .unconfirmed: self = .sending
        case .delivered: self = .sent
        case .failed, .expired: self = .failed
        case .cancelled: return nil
        }
    }
}
