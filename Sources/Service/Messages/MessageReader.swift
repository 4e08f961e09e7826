import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Runs
import Store
import Upstream

/// Reads chat messages: rows from the gateway's transcripts, joined with our own entries. The last page of each session is cached in the
/// database, for times without the gateway.
final class MessageReader {
    /// Rows requested per wanted message, because tools and housekeeping take rows too.
    private static let rowsPerMessage = 4
    private static let fewestRows = 100
    /// The most messages of a page that are read whole, and the bytes of all of them.
    private static let mostWhole = 8
    private static let wholeBytes = 2 << 20

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let transcript: TranscriptReader
    private let runs: RunService
    private let conversations: Conversations
    private let transcripts = KeptTranscripts()
    /// A hash of each session's last saved page, so that it is written once.
    private var saved = RecentValues<SessionKey, UInt64>(atLeast: MissedMessages.mostMessages)
    /// Messages that the gateway does not give whole, by session and id.
    private var notGiven = RecentValues<String, Bool>(atLeast: MissedMessages.mostMessages)
    /// The rows in which our messages were found, by entry: another row with the same text is another message.
    private var rows = RecentValues<String, String>(atLeast: MissedMessages.mostMessages)

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        transcript: TranscriptReader,
        runs: RunService,
        conversations: Conversations
    ) {
        self.gateway = gateway
        self.feed = feed
        self.transcript = transcript
        self.runs = runs
        self.conversations = conversations
    }

    // MARK: Pages

    struct Page {
        var page: MessagePage
        /// Whether the gateway may have older rows.
        let hasOlder: Bool
        /// Our own entries in the session.
        let sent: SentEntries
    }

    enum Fault: Error {
        case call(CallFailure)
        case store(any Error)
    }

    /// The newest messages, as many as requested, however many rows that takes.
    func history(
        _ session: String,
        messages wanted: Int,
        isEnough: @escaping (MessagePage) -> Bool,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        let rows = min(max(Self.fewestRows, wanted * Self.rowsPerMessage), ChatHistory.limits.upperBound)
        readOrRecall(session, rows: rows, longTexts: true, on: loop) { [self] first in
            if case .success(let page) = first, page.hasOlder, !isEnough(page.page) {
                readAll(session, on: loop, then: use)
            } else {
                save(first, session, on: loop)
                use(first)
            }
        }
    }

    /// All rows that the gateway returns at once, without long texts, which would leave room for fewer rows.
    private func readAll(
        _ session: String,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        readOrRecall(session, rows: ChatHistory.limits.upperBound, longTexts: false, on: loop) { [self] page in
            save(page, session, on: loop)
            use(page)
        }
    }

    /// For people, who may get a kept page if nothing has happened in its session since.
    private func readOrRecall(
        _ session: String,
        rows: Int,
        longTexts: Bool,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        if let output = transcripts.page(session, rows: rows, longTexts: longTexts, on: loop) {
            return join(output, session, rows: rows, on: loop, then: use)
        }
        let question = transcripts.ask(session)
        transcript.read(session, rows: rows, longTexts: longTexts, on: loop) { [self] result in
            transcripts.keep(
                try? result.get(),
                of: session,
                rows: rows,
                longTexts: longTexts,
                to: question,
                tellsOfRows: gateway.profile?.offers(.eventsSessions) ?? false,
                on: loop
            )
            join(result, session, rows: rows, on: loop, then: use)
        }
    }

    /// A page of the session's newest messages; our own have their entries' ids.
    func read(
        _ session: String,
        rows: Int,
        longTexts: Bool,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        transcript.read(session, rows: rows, longTexts: longTexts, on: loop) { [self] result in
            join(result, session, rows: rows, on: loop, then: use)
        }
    }

    private func join(
        _ result: TranscriptReader.Page,
        _ session: String,
        rows: Int,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        switch result {
        case .failure(let failure): use(.failure(.call(failure)))
        case .success(let output): join(output, session, rows: rows, on: loop, then: use)
        }
    }

    private func join(
        _ output: ChatHistory.Output,
        _ session: String,
        rows: Int,
        on loop: isolated EventLoop,
        then use: @escaping (Result<Page, Fault>) -> Void
    ) {
        let (keys, readAt) = (SentEntries.keys(of: output.rows), loop.wallClock)
        feed.read(on: loop) { tables in
            var sent = try SentEntries.read(tables, session: session, keys: keys)
            try sent.readRowless(tables)
            return (sent: sent, told: try tables.said.runs(in: session))
        } completion: { [self] result in
            switch result {
            case .failure(let error): use(.failure(.store(error)))
            case .success(let (sent, told)):
                let page = page(output, session, sent, told, readAt: readAt, on: loop)
                let isCut = page.rowCount >= rows || output.byteCount >= ChatHistory.wholeBytes
                let found = Page(page: page, hasOlder: output.hasMore ?? isCut, sent: sent)
                complete(found, output, session, on: loop) { use(.success($0)) }
            }
        }
    }

    /// Restores full texts of messages that the gateway cuts: those that were published at the end of their run or read whole before, and
    /// the newest of the others, where the gateway gives single messages. All readers of messages get them from here.
    private func complete(
        _ page: Page,
        _ output: ChatHistory.Output,
        _ session: String,
        on loop: isolated EventLoop,
        then use: @escaping (Page) -> Void
    ) {
        let cut = page.page.messages.filter(\.isTruncated).map(\.id)
        guard !cut.isEmpty else { return use(page) }
        feed.read(on: loop) { tables in
            try cut.compactMap { try tables.messages.message(session: session, id: $0) }
        } completion: { [self] kept in
            var page = page
            for message in (try? kept.get()) ?? [] where !message.isTruncated { page.page.complete(message) }
            readWhole(page, Set(output.rows.compactMap(\.id)), session, on: loop, then: use)
        }
    }

    /// - Parameter rows: the ids that the transcript itself gives its rows; the gateway knows no others.
    private func readWhole(
        _ page: Page,
        _ rows: Set<String>,
        _ session: String,
        on loop: isolated EventLoop,
        then use: @escaping (Page) -> Void
    ) {
        guard gateway.profile?.givesWholeMessages == true else { return use(page) }
        let cut = page.page.messages.filter { message in
            message.isTruncated && rows.contains(message.id) && notGiven["\(session)\n\(message.id)"] == nil
        }
        let asked = cut.suffix(Self.mostWhole).map(\.id)
        guard !asked.isEmpty else { return use(page) }
        var page = page
        var (left, room) = (asked.count, Self.wholeBytes)
        for id in asked {
            gateway.call(ChatMessageGet(sessionKey: session, id: id), on: loop) { [self] result in
                if case .success(let row) = result {
                    let whole = row.flatMap { message(of: $0, in: session, on: loop) }
                    if let whole, whole.id == id, !whole.isTruncated, whole.text.utf8.count <= room {
                        room -= whole.text.utf8.count
                        page.page.complete(whole)
                    } else {
                        notGiven["\(session)\n\(id)"] = true
                    }
                }
                left -= 1
                if left == 0 { use(page) }
            }
        }
    }

    private func message(of row: TranscriptRow, in session: String, on loop: isolated EventLoop) -> ChatMessage? {
        let key = SessionKey(canonical: session)
        return runs.reading { tracker in
            MessagePage.message(row, session: key, tracker: tracker, now: loop.wallClock)?.message
        }
    }

    private func page(
        _ history: ChatHistory.Output,
        _ session: String,
        _ sent: SentEntries,
        _ told: [String: String],
        readAt: Timestamp,
        on loop: isolated EventLoop
    ) -> MessagePage {
        let own = sent.messages(rows: rows, readAt: readAt, clockSkewMs: gateway.clockSkewMs(on: loop))
        let page = runs.reading { tracker in
            MessagePage(
                history,
                session: SessionKey(canonical: session),
                tracker: tracker,
                sent: own,
                told: told,
                now: loop.wallClock
            )
        }
        remember(page.rows)
        return page
    }

    /// The message of a row that came as an event.
    /// - Parameter use: gets the message, unless the row is none or is one of ours.
    func read(
        _ row: TranscriptRow,
        of session: SessionKey,
        on loop: isolated EventLoop,
        then use: @escaping (ChatMessage) -> Void
    ) {
        let (keys, readAt) = (SentEntries.keys(of: [row]), loop.wallClock)
        feed.read(on: loop) { tables in
            try SentEntries.read(tables, session: session.text, keys: keys)
        } completion: { [self] result in
            guard case .success(let sent) = result else { return }
            let own = sent.messages(rows: rows, readAt: readAt, clockSkewMs: gateway.clockSkewMs(on: loop))
            let found = runs.reading { tracker in
                MessagePage.message(row, session: session, tracker: tracker, sent: own, now: loop.wallClock)
            }
            guard let found else { return }
            // Our own messages are published with the changes of their entries.
            if found.isOurs { return remember([found.message.id: row.identity]) }
            use(found.message)
        }
    }

    private func remember(_ found: [String: String]) {
        for (entry, row) in found { rows[entry] = row }
    }

    // MARK: The cache

    private func save(_ result: Result<Page, Fault>, _ session: String, on loop: isolated EventLoop) {
        guard case .success(let page) = result, !page.page.messages.isEmpty else { return }
        // A message on its way is read from the outbox, which knows its state.
        let messages = page.page.messages.filter { $0.state != .sending }
        let kept = MessageTable.Page(messages, conversation: conversations.current(in: session))
        guard saved[SessionKey(canonical: session)] != kept.digest else { return }
        saved[SessionKey(canonical: session)] = kept.digest
        let now = loop.wallClock
        // Only a cache: after a failed write the gateway still has the messages.
        feed.journal.cache(cost: 512 + kept.size) { transaction in
            try transaction.messages.save(kept, session: session, asOf: now)
        }
    }

    /// Starts a new conversation in the session, which was reset or deleted upstream.
    func begin(_ session: String, on loop: isolated EventLoop) {
        transcripts.changed(session, on: loop)
        saved[SessionKey(canonical: session)] = nil
        let (conversation, now) = (conversations.current(in: session), loop.wallClock)
        feed.journal.cache { transaction in
            try transaction.messages.begin(session: session, conversation: conversation, at: now)
        }
    }

    /// Forgets the session's page, since its transcript may have changed; nil stands for all sessions.
    func changed(_ session: String?, on loop: isolated EventLoop) { transcripts.changed(session, on: loop) }

    /// Forgets all pages after events may have been missed.
    func forget() { transcripts.forget() }
}
