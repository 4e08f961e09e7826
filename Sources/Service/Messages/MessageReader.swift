import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Outbox
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

    struct Page: Sendable {
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
        isEnough: (MessagePage) -> Bool,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        let rows = min(max(Self.fewestRows, wanted * Self.rowsPerMessage), ChatHistory.limits.upperBound)
        var page = try await readOrRecall(session, rows: rows, longTexts: true, on: loop)
        if page.hasOlder, !isEnough(page.page) {
            // All rows that the gateway returns at once, without long texts, which would leave room for fewer rows.
            page = try await readOrRecall(session, rows: ChatHistory.limits.upperBound, longTexts: false, on: loop)
        }
        save(page, session, on: loop)
        return page
    }

    /// For people, who may get a kept page if nothing has happened in its session since.
    private func readOrRecall(
        _ session: String,
        rows: Int,
        longTexts: Bool,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        if let output = transcripts.page(session, rows: rows, longTexts: longTexts, on: loop) {
            return try await join(output, session, rows: rows, on: loop)
        }
        let question = transcripts.ask(session)
        let answer = await transcript.read(session, rows: rows, longTexts: longTexts, on: loop)
        transcripts.keep(
            try? answer.get(),
            of: session,
            rows: rows,
            longTexts: longTexts,
            to: question,
            tellsOfRows: gateway.profile?.offers(.eventsSessions) ?? false,
            on: loop
        )
        return try await join(answer, session, rows: rows, on: loop)
    }

    /// A page of the session's newest messages; our own have their entries' ids.
    func read(
        _ session: String,
        rows: Int,
        longTexts: Bool,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        let answer = await transcript.read(session, rows: rows, longTexts: longTexts, on: loop)
        return try await join(answer, session, rows: rows, on: loop)
    }

    private func join(
        _ answer: TranscriptReader.Page,
        _ session: String,
        rows: Int,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        switch answer {
        case .failure(let failure): throw .call(failure)
        case .success(let output): try await join(output, session, rows: rows, on: loop)
        }
    }

    private func join(
        _ output: ChatHistory.Output,
        _ session: String,
        rows: Int,
        on loop: isolated EventLoop
    ) async throws(Fault) -> Page {
        let (keys, readAt) = (SentEntries.keys(of: output.rows), loop.wallClock)
        let (sent, told): (SentEntries, [String: String])
        do {
            (sent, told) = try await feed.read(on: loop) { tables in
                var sent = try SentEntries.read(tables, session: session, keys: keys)
                try sent.readOutcomes(tables)
                return (sent, try tables.said.runs(in: session))
            }
        } catch {
            throw .store(error)
        }
        let page = page(output, session, sent, told, readAt: readAt, on: loop)
        let isCut = page.rowCount >= rows || output.byteCount >= ChatHistory.wholeBytes
        let found = Page(page: page, hasOlder: output.hasMore ?? isCut, sent: sent)
        return await complete(found, output, session, on: loop)
    }

    /// Restores full texts of messages that the gateway cuts: those that were published at the end of their run or read whole before, and
    /// the newest of the others, where the gateway gives single messages. All readers of messages get them from here.
    private func complete(
        _ page: Page,
        _ output: ChatHistory.Output,
        _ session: String,
        on loop: isolated EventLoop
    ) async -> Page {
        let cut = page.page.messages.filter(\.isTruncated).map(\.id)
        guard !cut.isEmpty else { return page }
        let kept = try? await feed.read(on: loop) { tables in
            try cut.compactMap { try tables.messages.message(session: session, id: $0) }
        }
        var page = page
        for message in kept ?? [] where !message.isTruncated { page.page.complete(message) }
        guard gateway.profile?.givesWholeMessages == true else { return page }
        // The gateway knows only the ids that the transcript itself gives its rows.
        let rows = Set(output.rows.compactMap(\.id))
        let missing = page.page.messages.filter { message in
            message.isTruncated && rows.contains(message.id) && notGiven["\(session)\n\(message.id)"] == nil
        }
        let asked = missing.suffix(Self.mostWhole).map(\.id)
        guard !asked.isEmpty else { return page }
        var room = Self.wholeBytes
        for (id, answer) in await wholeRows(asked, of: session, on: loop) {
            guard case .success(let row) = answer else { continue }
            let whole = row.flatMap { message(of: $0, in: session, on: loop) }
            if let whole, whole.id == id, !whole.isTruncated, whole.text.utf8.count <= room {
                room -= whole.text.utf8.count
                page.page.complete(whole)
            } else {
                notGiven["\(session)\n\(id)"] = true
            }
        }
        return page
    }

    /// Asks for all of them at once. The answers are in the order in which they came.
    private func wholeRows(
        _ ids: [String],
        of session: String,
        on loop: isolated EventLoop
    ) async -> [(id: String, answer: Result<TranscriptRow?, CallFailure>)] {
        await loop.wait { completion in
            var answers: [(id: String, answer: Result<TranscriptRow?, CallFailure>)] = []
            for id in ids {
                gateway.call(ChatMessageGet(sessionKey: session, id: id), on: loop) { answer in
                    answers.append((id, answer))
                    if answers.count == ids.count { completion(answers) }
                }
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

    private func save(_ page: Page, _ session: String, on loop: isolated EventLoop) {
        guard !page.page.messages.isEmpty else { return }
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

    func changed(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        changed(entry.session, on: loop)
        // The gateway has lost the row of a message that is sent again, and writes another one.
        if entry.state == .retrying { rows[entry.id] = nil }
    }

    /// Forgets all pages after events may have been missed.
    func forget() { transcripts.forget() }
}
