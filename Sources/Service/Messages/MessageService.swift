package import Basics
package import EventLoops
package import Gateway
import JSONBytes
package import Outbox
package import Runs
import Store
import Upstream

/// Chat messages: read from the gateway's history, kept for when it is away, published on the stream as they become known.
package final class MessageService {
    /// Rows asked for each wanted message: tools and housekeeping take rows of their own.
    private static let rowsPerMessage = 4
    private static let fewestRows = 100
    /// A transcript may lag a moment behind the end of its run.
    private static let secondLookMilliseconds: Int64 = 700
    private static let rowsAfterRun = 60
    private static let mostRemembered = 4096
    /// Sessions that are looked into after a break.
    private static let mostReloaded = 16

    private let feed: EventFeed
    private let transcript: TranscriptReader
    private let runs: RunService
    /// The last page saved of each session, to write it once.
    private var saved: [String: UInt64] = [:]
    /// Messages published of, with the state they were published in.
    private var published: [String: ChatMessage.State] = [:]
    private var reloading: Set<SessionKey> = []

    package init(feed: EventFeed, transcript: TranscriptReader, runs: RunService) {
        self.feed = feed
        self.transcript = transcript
        self.runs = runs
    }

    // MARK: History

    package struct Page {
        package let page: MessagePage
        /// The gateway may hold older rows than these.
        package let hasOlder: Bool
    }

    /// As many of the newest messages as are wanted, with whatever rows that takes.
    package func history(
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
        transcript.read(session, rows: rows, on: loop) { [self] result in
            switch result {
            case .failure(let failure): use(.failure(failure))
            case .success(let output):
                let page = page(output, session, now: loop.wallClock)
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

    private func page(_ history: ChatHistory.Output, _ session: String, now: Timestamp) -> MessagePage {
        let entries = Self.entries(of: history.rows)
        return runs.reading { tracker in
            MessagePage(
                history,
                session: SessionKey(canonical: session),
                tracker: tracker,
                entries: entries,
                now: now
            )
        }
    }

    /// Our entries among the keys of the rows, by key.
    private static func entries(of rows: [HistoryRow]) -> [String: String] {
        var entries: [String: String] = [:]
        for row in rows {
            guard let written = row.idempotencyKey else { continue }
            let key = OutboxEntry.bareKey(written)
            let id = OutboxEntry.entryID(ofKey: key)
            if UUIDv7.isWellFormed(id) { entries[key] = id }
        }
        return entries
    }

    // MARK: The cache

    private func save(_ messages: [ChatMessage], _ session: String, on loop: isolated EventLoop) {
        guard !messages.isEmpty else { return }
        var hash = FNV1a.start
        var rows: [StoredMessage] = []
        for (place, message) in messages.enumerated() {
            let row = Self.row(message, session, ordinal: Int64(place))
            hash = FNV1a.hash(row.body, after: hash)
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
        feed.journal.cache(cost: cost) { transaction in
            try transaction.messages.save(rows, session: session, asOf: now)
        }
    }

    private static func row(_ message: ChatMessage, _ session: String, ordinal: Int64) -> StoredMessage {
        var writer = JSONWriter(capacity: message.text.utf8.count + 256)
        message.write(to: &writer)
        return StoredMessage(session: session, id: message.id, at: message.at, ordinal: ordinal, body: writer.bytes)
    }

    /// The session was reset or deleted upstream.
    package func forget(_ session: String) {
        saved[session] = nil
        feed.journal.cache { transaction in
            try transaction.messages.removeAll(session: session)
        }
    }

    // MARK: Events

    /// A message of ours: on its way, arrived, or given up. One that was taken back was never said.
    package func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard entry.kind == .message, let state = ChatMessage.State(entry.state), published[entry.id] != state,
            !runs.isHidden(entry.id)
        else { return }
        if let text = entry.text { return publish(ChatMessage(entry, text: text), entry.session, on: loop) }
        // Entries of an earlier process are in memory without their words.
        let id = entry.id
        feed.readSaved("message", on: loop) { tables in
            try tables.outbox.payload(id: id)?.text
        } failed: { _ in
        } completion: { [weak self] text in
            guard let text else { return }
            self?.publish(ChatMessage(entry, text: text), entry.session, on: loop)
        }
    }

    /// Publishes the messages of a run under the ids that its transcript has.
    package func runEnded(_ run: Run, on loop: isolated EventLoop) {
        lookAfter(run, isLast: false, on: loop)
    }

    private func lookAfter(_ run: Run, isLast: Bool, on loop: isolated EventLoop) {
        let session = run.session.text
        transcript.read(session, rows: Self.rowsAfterRun, on: loop) { [weak self] result in
            guard let self, case .success(let output) = result else { return }
            let page = self.page(output, session, now: loop.wallClock)
            let own = page.messages.filter { $0.runID.map(self.runs.resolved) == run.id && $0.role != .user }
            if own.isEmpty, !run.text.isEmpty || run.error != nil, !isLast {
                loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                    self?.lookAfter(run, isLast: true, on: loop)
                }
                return
            }
            for message in page.messages where message.runID.map(self.runs.resolved) == run.id {
                self.publish(message, session, on: loop)
            }
            if own.isEmpty, isLast { self.publish(ChatMessage(run), session, on: loop) }
        }
    }

    /// Publishes at once the words of people who write through other clients, where the gateway reports them.
    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .sessionMessage(let event) = event.payload, let row = event.row, row.role == .user,
            let key = event.sessionKey, Self.entries(of: [row]).isEmpty
        else { return }
        let session = runs.canonical(key)
        let message = runs.reading { tracker in
            MessagePage.message(row, session: session, tracker: tracker, now: loop.wallClock)
        }
        if let message { publish(message, session.text, on: loop) }
    }

    /// Publishes messages that were missed, from any sender. A turn under way is published at its end.
    package func reload(since: Timestamp, on loop: isolated EventLoop) {
        for session in runs.reading({ $0.recentSessions(Self.mostReloaded) }) where reloading.insert(session).inserted {
            let key = session.text
            transcript.read(key, rows: Self.rowsAfterRun, on: loop) { [weak self] result in
                guard let self else { return }
                self.reloading.remove(session)
                guard case .success(let output) = result else { return }
                let page = self.page(output, key, now: loop.wallClock)
                for message in page.settled where message.at >= since && !self.isUnderWay(message) {
                    self.publish(message, key, on: loop)
                }
            }
        }
    }

    private func isUnderWay(_ message: ChatMessage) -> Bool {
        message.runID.flatMap { runs.run($0) }?.state.isActive ?? false
    }

    private func publish(_ message: ChatMessage?, _ session: String, on loop: isolated EventLoop) {
        guard let message, published[message.id] != message.state else { return }
        // It was published as arrived; a page that still shows it on its way is older.
        if published[message.id] == .sent, message.state == .sending { return }
        if published.count > Self.mostRemembered { published.removeAll() }
        published[message.id] = message.state
        let row = Self.row(message, session, ordinal: 0)
        let isLasting = message.state == .sent
        let now = loop.wallClock
        feed.publish("message", session: session, run: message.runID, on: loop) { object in
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

    /// The words of a run that no transcript shows.
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
    /// nil for a message that was taken back, and so never said.
    init?(_ state: OutboxState) {
        switch state {
        case .queued, .sending, .retrying, .accepted, .unconfirmed: self = .sending
        case .delivered: self = .sent
        case .failed, .expired: self = .failed
        case .cancelled: return nil
        }
    }
}
