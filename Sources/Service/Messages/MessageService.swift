import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Ledger
package import Outbox
package import Runs
import Store
import Upstream

/// Chat messages: read from the gateway's transcripts, cached for times without the gateway, published on the stream as they become
/// known.
package final class MessageService {
    /// Rows requested per wanted message, because tools and housekeeping take rows too.
    private static let rowsPerMessage = 4
    private static let fewestRows = 100
    /// The delay before a second look, since a transcript may lag behind the end of its run.
    private static let secondLookMilliseconds: Int64 = 700
    private static let rowsAfterRun = 60
    /// The most ended runs whose transcript is read later; each keeps its text of up to a megabyte in memory.
    private static let mostUnread = 16
    /// The most sessions searched for missed messages at once after a break.
    private static let mostReloaded = 16
    /// The most sessions of which a gateway is asked whether they changed during a break.
    private static let mostListed = 200
    /// All messages that such searches can show: a forgotten one would be published twice.
    private static let remembered = mostReloaded * rowsAfterRun

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let transcript: TranscriptReader
    private let runs: RunService
    private let conversations: Conversations
    /// A hash of each session's last saved page, so that it is written once.
    private var saved = RecentValues<SessionKey, UInt64>(atLeast: remembered)
    private var said = PublishedMessages(atLeast: remembered)
    /// Entries that changed before the earlier process's messages were loaded; nil after loading.
    private var early: [OutboxEntry]? = []
    /// The reason why the earlier process's messages could not be read; the link stays closed until they are.
    package private(set) var fault: String?
    /// The rows in which our messages were found, by entry: another row with the same text is another message.
    private var rows = RecentValues<String, String>(atLeast: remembered)
    /// The places behind which sessions have messages that are not published yet.
    private var missed: [SessionKey: MessageCursor] = [:]
    /// Sessions whose missed messages are being read, and whether to read them once more.
    private var reloading: [SessionKey: Bool] = [:]
    /// Runs of the earlier process whose answers are to be looked for.
    private var unanswered: [Run] = []
    /// Runs that ended while no transcript could be read, oldest first.
    private var unread: [Run] = []
    private let transcripts = KeptTranscripts()

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        transcript: TranscriptReader,
        runs: RunService,
        conversations: Conversations
    ) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.transcript = transcript
        self.runs = runs
        self.conversations = conversations
    }

    // MARK: Messages of an earlier process

    private struct Saved: Sendable {
        let said: PublishedMessages
        /// Our messages whose present state is not on the stream.
        let unsaid: [OutboxEntry]
    }

    /// Loads the messages that an earlier process published, so that they do not come again.
    /// - Parameter completion: called when the link may open.
    func load(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        feed.readSaved("messages", on: loop) { tables in
            Saved(
                said: try PublishedMessages(tables, atLeast: Self.remembered),
                // An entry that cannot be read is the outbox's to report, and does not keep the link closed.
                unsaid: (try? PublishedMessages.unsaid(tables.said)) ?? []
            )
        } failed: { [weak self] fault in
            self?.fault = fault
        } completion: { [weak self] saved in
            guard let self else { return }
            self.fault = nil
            self.said = saved.said
            self.unanswered = saved.said.unansweredRuns
            let changed = self.early ?? []
            self.early = nil
            let known = Set(changed.map(\.id))
            for entry in saved.unsaid where !known.contains(entry.id) { self.entryChanged(entry, on: loop) }
            for entry in changed { self.entryChanged(entry, on: loop) }
            completion()
        }
    }

    // MARK: The transcript

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
    private func read(
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
            return sent
        } completion: { [self] result in
            switch result {
            case .failure(let error): use(.failure(.store(error)))
            case .success(let sent):
                let page = page(output, session, sent, readAt: readAt, on: loop)
                let isCut = page.rowCount >= rows || output.byteCount >= ChatHistory.wholeBytes
                complete(Page(page: page, hasOlder: output.hasMore ?? isCut, sent: sent), session, on: loop) {
                    use(.success($0))
                }
            }
        }
    }

    /// Restores full texts that were published at the end of their run and that the gateway cuts.
    private func complete(
        _ page: Page,
        _ session: String,
        on loop: isolated EventLoop,
        then use: @escaping (Page) -> Void
    ) {
        let cut = page.page.messages.filter(\.isTruncated).map(\.id)
        guard !cut.isEmpty else { return use(page) }
        feed.read(on: loop) { tables in
            try cut.compactMap { try tables.messages.message(session: session, id: $0)?.body }
        } completion: { kept in
            var page = page
            for message in ((try? kept.get()) ?? []).compactMap({ ChatMessage(cached: $0) }) where !message.isTruncated
            {
                page.page.complete(message)
            }
            use(page)
        }
    }

    private func page(
        _ history: ChatHistory.Output,
        _ session: String,
        _ sent: SentEntries,
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
                now: loop.wallClock
            )
        }
        remember(page.rows)
        return page
    }

    private func remember(_ found: [String: String]) {
        for (entry, row) in found { rows[entry] = row }
    }

    // MARK: The cache

    private func save(_ result: Result<Page, Fault>, _ session: String, on loop: isolated EventLoop) {
        guard case .success(let page) = result, !page.page.messages.isEmpty else { return }
        var hash = FNV1a.start
        var rows: [StoredMessage] = []
        // A message on its way is read from the outbox, which knows its state.
        for (place, message) in page.page.messages.enumerated() where message.state != .sending {
            let row = Self.row(message, session, ordinal: Int64(place))
            hash = FNV1a.hash(row.body, after: hash)
            rows.append(row)
        }
        guard saved[SessionKey(canonical: session)] != hash else { return }
        saved[SessionKey(canonical: session)] = hash
        let kept = MessageTable.Page(messages: rows, conversation: conversations.current(in: session))
        let cost = rows.reduce(512) { $0 + $1.body.count }
        let now = loop.wallClock
        // Only a cache: after a failed write the gateway still has the messages.
        feed.journal.cache(cost: cost) { transaction in
            try transaction.messages.save(kept, session: session, asOf: now)
        }
    }

    private static func row(_ message: ChatMessage, _ session: String, ordinal: Int64) -> StoredMessage {
        var writer = JSONWriter(capacity: message.text.utf8.count + 256)
        message.write(to: &writer)
        return StoredMessage(session: session, id: message.id, at: message.at, ordinal: ordinal, body: writer.bytes)
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

    // MARK: Events

    /// Publishes the new state of one of our messages: on its way, arrived, or failed. A cancelled one was never sent.
    package func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        transcripts.changed(entry.session, on: loop)
        guard entry.kind == .message, let state = ChatMessage.State(entry.state), said[entry.id] != state,
            !runs.isHidden(entry.id)
        else { return }
        guard early == nil else {
            early?.removeAll { $0.id == entry.id }
            early?.append(entry)
            return
        }
        if let text = entry.text, entry.payloadBytes <= text.utf8.count {
            return publish(ChatMessage(entry, text: text), entry.session, on: loop)
        }
        // Attachments are only on disk, and so are the texts of an earlier process.
        let id = entry.id
        feed.readSaved("message", on: loop) { tables in
            (text: try tables.outbox.entry(id: id)?.text, files: try tables.outbox.files(id: id))
        } failed: { _ in
        } completion: { [weak self] kept in
            guard let text = kept.text else { return }
            let attachments = SentEntries.attachments(kept.files)
            self?.publish(ChatMessage(entry, text: text, attachments: attachments), entry.session, on: loop)
        }
    }

    /// Publishes a run's messages under the ids in its transcript.
    package func runEnded(_ run: Run, on loop: isolated EventLoop) {
        lookAfter(run, isLast: false, on: loop)
    }

    private func lookAfter(_ run: Run, isLast: Bool, on loop: isolated EventLoop) {
        let session = run.session.text
        read(session, rows: Self.rowsAfterRun, longTexts: true, on: loop) { [weak self] result in
            guard let self else { return }
            guard case .success(let page) = result else {
                self.miss(run.session)
                if self.unread.count == Self.mostUnread { self.unread.removeFirst() }
                return self.unread.append(run)
            }
            let found = page.page.messages.filter { $0.runID.map(self.runs.resolved) == run.id }
            let hasAnswer = found.contains { $0.role != .user }
            if !hasAnswer, !run.text.isEmpty || run.error != nil, !isLast {
                loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                    self?.lookAfter(run, isLast: true, on: loop)
                }
                return
            }
            // Missed messages come first, in the order of the transcript.
            self.publishMissed(page.page, run.session, on: loop)
            for message in found { self.publish(message, session, on: loop) }
            // The transcript never gets the partial text of an interrupted run, so no list would have that message.
            if !hasAnswer, isLast, run.code != .interrupted, !self.isSaid(run, in: page.page) {
                self.publish(ChatMessage(run), session, on: loop)
            }
        }
    }

    /// Whether the stream has the run's text as a message of which the transcript does not tell the run.
    private func isSaid(_ run: Run, in page: MessagePage) -> Bool {
        !run.text.isEmpty
            && page.messages.contains { message in
                message.runID == nil && message.at >= run.startedAt && said[message.id] != nil
                    && message.mayAnswer(run.text)
            }
    }

    /// Publishes at once what people write through other clients, if the gateway reports it.
    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        if let session = event.changedTranscript {
            transcripts.changed(session.map { runs.canonical($0).text }, on: loop)
        }
        guard case .sessionMessage(let event) = event.payload, event.isStored, let row = event.row, row.role == .user,
            let key = event.sessionKey
        else { return }
        let session = runs.canonical(key)
        let (keys, readAt) = (SentEntries.keys(of: [row]), loop.wallClock)
        feed.read(on: loop) { tables in
            try SentEntries.read(tables, session: session.text, keys: keys)
        } completion: { [weak self] result in
            guard let self, case .success(let sent) = result else { return }
            let skewMs = self.gateway.clockSkewMs(on: loop)
            let own = sent.messages(rows: self.rows, readAt: readAt, clockSkewMs: skewMs)
            let found = self.runs.reading { tracker in
                MessagePage.message(row, session: session, tracker: tracker, sent: own, now: loop.wallClock)
            }
            guard let found else { return }
            // Our own messages are published with the changes of their entries.
            if found.isOurs { return self.remember([found.message.id: row.identity]) }
            self.publish(found.message, session.text, on: loop)
        }
    }

    func forgetTranscript(_ session: String, on loop: isolated EventLoop) { transcripts.changed(session, on: loop) }

    /// Called when the link is lost, or frames of it: kept transcripts may be outdated, and messages missed.
    func linkLost(on loop: isolated EventLoop) {
        transcripts.forget()
        said.linkLost(gatewayTime: gateway.gatewayTime(on: loop))
    }

    /// Publishes missed messages from any sender, after a start, a break of the link, or lost frames. A turn in progress
    /// is published at its end. Sessions that are not read now are read when a run of theirs ends.
    /// - Parameter waiting: the sessions in which entries of ours wait.
    func catchUp(waiting: [SessionKey], on loop: isolated EventLoop) {
        let isFirst = said.start == nil
        said.linkOpened(gatewayTime: gateway.gatewayTime(on: loop), clockSkewMs: gateway.clockSkewMs(on: loop))
        // No process has followed this gateway before.
        guard !isFirst else { return }
        let recent = runs.reading { $0.recentSessions(Self.mostReloaded) }
        var known: Set<SessionKey> = []
        let sessions = (recent + waiting + said.sessions).filter { known.insert($0).inserted }.prefix(Self.mostReloaded)
        for session in waiting { miss(session) }
        for session in sessions {
            miss(session)
            reload(session, on: loop)
        }
        reloadChanged(besides: known, room: Self.mostReloaded - sessions.count, on: loop)
        let (earlierRuns, ended) = (unanswered, unread)
        (unanswered, unread) = ([], [])
        for run in earlierRuns { lookForAnswer(of: run, on: loop) }
        for run in ended { lookAfter(run, isLast: false, on: loop) }
    }

    /// Finds the sessions that only others used during the break.
    private func reloadChanged(besides known: Set<SessionKey>, room: Int, on loop: isolated EventLoop) {
        guard said.hasGap, let since = said.start else { return }
        let minutes = (gateway.gatewayTime(on: loop).milliseconds - since.milliseconds) / 60_000 + 2
        let call = SessionsList(limit: Self.mostListed, activeMinutes: Int(max(minutes, 1)))
        gateway.call(call, on: loop) { [weak self] result in
            guard let self, case .success(let rows) = result else { return }
            self.said.sessionsFound()
            var known = known
            let changed = rows.filter { $0.updatedAt.map { $0 >= since.milliseconds } ?? false }
                .compactMap { $0.key.map { self.runs.canonical($0) } }
                .filter { known.insert($0).inserted }
            for session in changed { self.miss(session) }
            for session in changed.prefix(room) { self.reload(session, on: loop) }
        }
    }

    /// The tracker does not know the run, so its answer is found by its text behind the last answer on the stream.
    /// - Parameter firstPlace: the last answer on the stream at the first look; nil for the first look.
    private func lookForAnswer(of run: Run, firstPlace: MessageCursor? = nil, on loop: isolated EventLoop) {
        let session = run.session
        miss(session)
        guard let place = firstPlace ?? missed[session] else { return }
        read(session.text, rows: Self.rowsAfterRun, longTexts: true, on: loop) { [weak self] result in
            guard let self else { return }
            guard case .success(let page) = result else { return self.unanswered.append(run) }
            self.publishMissed(page.page, session, on: loop)
            let behind = PublishedMessages.messages(page.page.messages[...], after: place)
            if behind.contains(where: { $0.mayAnswer(run.text) }) { return }
            if firstPlace != nil { return self.publish(ChatMessage(run), session.text, on: loop) }
            loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                self?.lookForAnswer(of: run, firstPlace: place, on: loop)
            }
        }
    }

    /// Notes that messages of the session may have been missed, from the last one on the stream on.
    private func miss(_ session: SessionKey) {
        missed[session] = missed[session] ?? said.place(in: session)
    }

    private func reload(_ session: SessionKey, on loop: isolated EventLoop) {
        guard missed[session] != nil else { return }
        guard reloading[session] == nil else { return reloading[session] = true }
        reloading[session] = false
        read(session.text, rows: Self.rowsAfterRun, longTexts: true, on: loop) { [weak self] result in
            guard let self else { return }
            let isRepeated = self.reloading.removeValue(forKey: session) ?? false
            if case .success(let page) = result { self.publishMissed(page.page, session, on: loop) }
            if isRepeated { self.reload(session, on: loop) }
        }
    }

    /// Messages behind a run in progress wait for its end, so that their order stays.
    private func publishMissed(_ page: MessagePage, _ session: SessionKey, on loop: isolated EventLoop) {
        guard let place = missed[session] else { return }
        let unsaid = said.unsaid(page.settled, after: place)
        let ready = unsaid.prefix { !isUnderWay($0) }
        for message in ready { publish(message, session.text, on: loop) }
        if unsaid.dropFirst(ready.count).allSatisfy(isUnderWay) { missed[session] = nil }
    }

    private func isUnderWay(_ message: ChatMessage) -> Bool {
        message.runID.flatMap { runs.run($0) }?.state.isActive ?? false
    }

    private func publish(_ message: ChatMessage?, _ session: String, on loop: isolated EventLoop) {
        guard let message, said[message.id] != message.state else { return }
        // The message was published as arrived; a page that shows it as sending is older.
        if said[message.id] == .sent, message.state == .sending { return }
        said.add(message, in: SessionKey(canonical: session))
        let row = Self.row(message, session, ordinal: 0)
        let isLasting = message.state == .sent
        let now = loop.wallClock
        feed.publish("message", session: session, run: message.runID, on: loop) { object in
            object.member("message", raw: row.body)
        } also: { transaction in
            try transaction.said.save(message, session: session)
            if isLasting { try transaction.messages.save([row], session: session, asOf: now) }
        }
        events.notify(.messageSaid(message, session: session), on: loop)
    }
}
