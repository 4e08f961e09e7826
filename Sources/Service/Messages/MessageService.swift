import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Ledger
package import Outbox
package import Runs
import Store
import Upstream

/// Publishes chat messages on the stream as they become known: our own with the changes of their entries, those of others and of runs as
/// the gateway's transcripts show them.
package final class MessageService {
    /// The delay before a second look, since a transcript may lag behind the end of its run.
    private static let secondLookMilliseconds: Int64 = 700
    /// The wait after the row of an answer for the end of its run, which publishes it.
    private static let answerMilliseconds: Int64 = 5_000
    /// The longest pause before another look for missed messages; each pause is twice as long as the one before it.
    private static let longestPauseMilliseconds: Int64 = 60_000
    /// The most sessions of which a gateway is asked whether they changed during a break.
    private static let mostListed = 200

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private let reader: MessageReader
    private var said = PublishedMessages(atLeast: MissedMessages.mostMessages)
    private var missed = MissedMessages()
    /// Runs of messages of ours, each with the run that seemed to be the message's before: its question is another client's.
    private var separated = RecentValues<String, String>(atLeast: 16)
    /// The number of series of looks for missed messages. A new one ends the one before.
    private var series = 0
    /// Entries that changed before the earlier process's messages were loaded; nil after loading.
    private var early: [OutboxEntry]? = []
    /// The reason why the earlier process's messages could not be read; the link stays closed until they are.
    package private(set) var fault: String?

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents, runs: RunService, reader: MessageReader) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.runs = runs
        self.reader = reader
    }

    // MARK: Messages of an earlier process

    private struct Saved: Sendable {
        private(set) var said = PublishedMessages(atLeast: MissedMessages.mostMessages)
        private(set) var missed = MissedMessages()
        /// Our messages whose present state is not on the stream.
        let unsaid: [OutboxEntry]

        init(_ tables: StoreTables) throws {
            // An entry that cannot be read is the outbox's to report, and does not keep the link closed.
            unsaid = (try? PublishedMessages.unsaid(tables.said)) ?? []
            guard let end = try tables.events.newestTime() else { return }
            let newest = try tables.said.newest(MissedMessages.mostMessages)
            for message in newest.reversed() { said.add(message.message, in: message.session) }
            let first = newest.count < MissedMessages.mostMessages ? 0 : newest.last?.sequence ?? 0
            missed = try MissedMessages(tables, from: first, to: end)
        }
    }

    /// Loads the messages that an earlier process published, so that they do not come again.
    /// - Parameter completion: called when the link may open.
    func load(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        feed.readSaved("messages", on: loop) { tables in
            try Saved(tables)
        } failed: { [weak self] fault in
            self?.fault = fault
        } completion: { [weak self] saved in
            guard let self else { return }
            self.fault = nil
            self.said = saved.said
            self.missed = saved.missed
            let changed = self.early ?? []
            self.early = nil
            let known = Set(changed.map(\.id))
            for entry in saved.unsaid where !known.contains(entry.id) { self.entryChanged(entry, on: loop) }
            for entry in changed { self.entryChanged(entry, on: loop) }
            completion()
        }
    }

    // MARK: Events

    /// Publishes the new state of one of our messages: on its way, arrived, or failed, and the run that answers it, if that is another
    /// one than before. A cancelled one was never sent.
    package func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        reader.changed(entry, on: loop)
        guard entry.kind == .message, let state = ChatMessage.State(entry.state),
            !isSaid(entry.id, state, run: entry.toldRun), !runs.isHidden(entry.id)
        else { return }
        guard early == nil else {
            early?.removeAll { $0.id == entry.id }
            early?.append(entry)
            return
        }
        if let text = entry.text, entry.payloadBytes <= text.utf8.count {
            return publishEntry(ChatMessage(entry, text: text), entry.session, on: loop)
        }
        // Attachments are only on disk, and so are the texts of an earlier process.
        let id = entry.id
        feed.readSaved("message", on: loop) { tables in
            (text: try tables.outbox.entry(id: id)?.text, files: try tables.outbox.files(id: id))
        } failed: { _ in
        } completion: { [weak self] kept in
            guard let text = kept.text else { return }
            let attachments = SentEntries.attachments(kept.files)
            self?.publishEntry(ChatMessage(entry, text: text, attachments: attachments), entry.session, on: loop)
        }
    }

    /// Publishes a run's messages under the ids in its transcript.
    package func runEnded(_ run: Run, on loop: isolated EventLoop) {
        lookAfter(run, isLast: false, isNew: true, on: loop)
    }

    /// A message of ours has a run of its own; until that one's row is in the transcript, the other run's row is taken for the message's.
    func runSeparated(_ key: String, from other: String) { separated[key] = other }

    /// - Parameters:
    ///   - isLast: the transcript had time to show the answer.
    ///   - isNew: the run has just ended.
    private func lookAfter(_ run: Run, isLast: Bool, isNew: Bool, on loop: isolated EventLoop) {
        let session = run.session.text
        readEnd(of: run.session, on: loop) { [weak self] page in
            guard let self else { return }
            guard let page else {
                self.missed.missEnd(of: run, self.said)
                if isNew { self.beginLooking(on: loop) }
                return
            }
            let found = page.messages.filter { $0.runID.map(self.runs.resolved) == run.id }
            let hasAnswer = found.contains { $0.role != .user }
            if !hasAnswer, !run.text.isEmpty || run.error != nil, !isLast {
                loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                    self?.lookAfter(run, isLast: true, isNew: isNew, on: loop)
                }
                return
            }
            if let other = self.separated[run.id] {
                for message in page.messages where message.runID == other { self.publish(message, session, on: loop) }
            }
            // Missed messages come first, in the order of the transcript.
            self.missed.runEnded(in: run.session, self.said)
            self.publishMissed(page, run.session, on: loop)
            for message in found { self.publish(message, session, on: loop) }
            // The transcript never gets the partial text of an interrupted run, so no list would have that message.
            if !hasAnswer, isLast, run.code != .interrupted, !self.isSaid(run, in: page) {
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
            reader.changed(session.map { runs.canonical($0).text }, on: loop)
        }
        switch event.payload {
        case .sessionMessage(let event):
            guard event.isStored, let row = event.row, let key = event.sessionKey else { return }
            let session = runs.canonical(key)
            if row.role == .assistant, [.completed, .error].contains(row.stopReason) {
                return missUnlessSaid(row.messageID, in: session, on: loop)
            }
            guard row.role == .user else { return }
            reader.read(row, of: session, on: loop) { [weak self] message in
                self?.publish(message, session.text, on: loop)
            }
        case .chat(let event) where event.isEnd && !event.isHeartbeat:
            ended(event.runId, event.sessionKey, on: loop)
        case .agent(let event) where event.isEnd && event.sessionKey == nil && !event.isHeartbeat:
            ended(event.runId, nil, on: loop)
        default: break
        }
    }

    /// A run that began before the link opened may end before anything else shows it. Its messages are in the transcript alone.
    /// - Parameter key: nil if the gateway does not say in which session the run was.
    private func ended(_ run: String?, _ key: String?, on loop: isolated EventLoop) {
        guard let run, !runs.isKnown(run) else { return }
        if let session = key.map(runs.canonical) {
            missed.miss(session, said)
            reload(session, on: loop)
        } else {
            missed.missSomewhere()
        }
        beginLooking(on: loop)
    }

    /// The answer of a run that began before the link opened may come as a row, and nothing else tell of the run: April gateways report no end
    /// of the run with which they go on behind a stopped message.
    private func missUnlessSaid(_ id: String, in session: SessionKey, on loop: isolated EventLoop) {
        // A later answer may be published in between.
        let place = missed.place(in: session, said)
        loop.after(milliseconds: Self.answerMilliseconds) { [weak self] in
            guard let self, said[id] == nil, gateway.isOnline else { return }
            missed.miss(session, behind: place)
            reload(session, on: loop)
            beginLooking(on: loop)
        }
    }

    // MARK: After a break

    /// Called when the link is lost, or frames of it: kept transcripts may be outdated, and messages missed.
    func linkLost(on loop: isolated EventLoop) {
        reader.forget()
        missed.linkLost(gatewayTime: gateway.gatewayTime(on: loop))
    }

    /// Publishes missed messages from any sender, after a start, a break of the link, or lost frames. A turn in progress
    /// is published at its end. Sessions that are not read now are read when a run of theirs ends.
    /// - Parameter waiting: the sessions in which entries of ours wait.
    func catchUp(waiting: [SessionKey], on loop: isolated EventLoop) {
        let (time, skewMs) = (gateway.gatewayTime(on: loop), gateway.clockSkewMs(on: loop))
        guard missed.linkOpened(gatewayTime: time, clockSkewMs: skewMs) else { return }
        let recent = runs.reading { $0.recentSessions(MissedMessages.mostRead) }
        let sessions = missed.toRead(recent: recent, waiting: waiting, said)
        readMissed(sessions, on: loop)
        beginLooking(on: loop)
    }

    private func readMissed(_ sessions: [SessionKey], on loop: isolated EventLoop) {
        for session in sessions { reload(session, on: loop) }
        reloadChanged(besides: sessions, on: loop)
        let runs = missed.takeUnanswered()
        for missed in runs.ofEarlierProcess { lookForAnswer(to: missed.run, behind: missed.place, on: loop) }
        for run in runs.ended { lookAfter(run, isLast: false, isNew: false, on: loop) }
    }

    /// Looks for what is missed with growing pauses, as long as there is any: a gateway that has just started may refuse to show its
    /// transcripts, and rows may be written late.
    private func beginLooking(on loop: isolated EventLoop) {
        series += 1
        lookAgain(after: Self.secondLookMilliseconds, series, on: loop)
    }

    private func lookAgain(after pause: Int64, _ series: Int, on loop: isolated EventLoop) {
        guard pause <= Self.longestPauseMilliseconds else { return }
        loop.after(milliseconds: pause) { [weak self] in
            guard let self, series == self.series, self.missed.isOpen else { return }
            if self.gateway.isOnline {
                self.readMissed(Array(self.missed.unread().prefix(MissedMessages.mostRead)), on: loop)
            }
            self.lookAgain(after: pause * 2, series, on: loop)
        }
    }

    /// Finds the sessions that only others used during the break.
    private func reloadChanged(besides others: [SessionKey], on loop: isolated EventLoop) {
        guard let minutes = missed.beginSearch(gatewayTime: gateway.gatewayTime(on: loop)) else { return }
        let call = SessionsList(limit: Self.mostListed, activeMinutes: minutes)
        let before = said
        gateway.call(call, on: loop) { [weak self] result in
            guard let self else { return }
            guard case .success(let rows) = result else { return self.missed.searchFailed() }
            let listed = rows.compactMap { row in row.key.map { (self.runs.canonical($0), row.updatedAt) } }
            for session in self.missed.found(listed, besides: others, before) { self.reload(session, on: loop) }
        }
    }

    /// The tracker does not know the run, so its answer is found by its text behind the last answer on the stream.
    /// - Parameters:
    ///   - place: the last answer on the stream at the first look; nil for the first look.
    ///   - isLast: the transcript had time to show the answer.
    private func lookForAnswer(
        to run: Run,
        behind place: MessageCursor?,
        isLast: Bool = false,
        on loop: isolated EventLoop
    ) {
        let session = run.session
        missed.miss(session, said)
        guard let place = place ?? missed.place(of: session) else { return }
        readEnd(of: session, on: loop) { [weak self] page in
            guard let self else { return }
            guard let page else {
                self.missed.missAnswer(to: run, behind: place)
                if isLast { self.beginLooking(on: loop) }
                return
            }
            self.publishMissed(page, session, on: loop)
            let behind = MissedMessages.messages(page.messages[...], after: place)
            if behind.contains(where: { $0.mayAnswer(run.text) }) { return }
            if isLast { return self.publish(ChatMessage(run), session.text, on: loop) }
            loop.after(milliseconds: Self.secondLookMilliseconds) { [weak self] in
                self?.lookForAnswer(to: run, behind: place, isLast: true, on: loop)
            }
        }
    }

    private func reload(_ session: SessionKey, on loop: isolated EventLoop) {
        guard missed.beginReading(session) else { return }
        readEnd(of: session, on: loop) { [weak self] page in
            guard let self else { return }
            let isRepeated = self.missed.endReading(session)
            if let page { self.publishMissed(page, session, on: loop) }
            guard isRepeated else { return }
            // The page is older than what was missed since.
            self.missed.miss(session, self.said)
            self.reload(session, on: loop)
        }
    }

    /// Reads the end of a session's transcript; nil if it cannot be read now.
    private func readEnd(
        of session: SessionKey,
        on loop: isolated EventLoop,
        then use: @escaping (MessagePage?) -> Void
    ) {
        loop.start { [reader] in
            let rows = MissedMessages.rows
            use((try? await reader.read(session.text, rows: rows, longTexts: true, on: loop))?.page)
        }
    }

    private func publishMissed(_ page: MessagePage, _ session: SessionKey, on loop: isolated EventLoop) {
        let open = page.messages[page.settled.endIndex...]
        let found = missed.take(from: page.settled, open: open, of: session, said) { message in
            message.runID.flatMap { runs.run($0) }?.state.isActive ?? false
        }
        for message in found { publish(message, session.text, on: loop) }
    }

    // MARK: The stream

    private func publish(_ message: ChatMessage?, _ session: String, on loop: isolated EventLoop) {
        guard let message, said[message.id] != message.state else { return }
        say(message, session, on: loop)
    }

    private func publishEntry(_ message: ChatMessage?, _ session: String, on loop: isolated EventLoop) {
        guard var message, !isSaid(message.id, message.state, run: message.runID) else { return }
        message.runID = message.runID.map(runs.resolved)
        say(message, session, on: loop)
    }

    private func isSaid(_ id: String, _ state: ChatMessage.State, run: String?) -> Bool {
        said.shows(id, state, run: run.map(runs.resolved))
    }

    private func say(_ message: ChatMessage, _ session: String, on loop: isolated EventLoop) {
        // The message was published as arrived; a page that shows it as sending is older.
        if said[message.id] == .sent, message.state == .sending { return }
        let isRepeated = said[message.id] == message.state
        said.add(message, in: SessionKey(canonical: session))
        let isLasting = message.state == .sent
        let now = loop.wallClock
        feed.publish("message", of: message, session: session, run: message.runID, on: loop) { object in
            object.member("message", message)
        } also: { transaction in
            try transaction.said.save(message, session: session)
            if isLasting { try transaction.messages.save(message, session: session, asOf: now) }
        }
        // Another run answers it; nobody has said anything.
        if !isRepeated { events.notify(.messageSaid(message, session: session), on: loop) }
    }
}
