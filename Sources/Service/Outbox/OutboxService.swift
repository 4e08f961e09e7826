package import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Ledger
import Observability
package import Outbox
import Runs
import Store
package import Upstream

/// Gives the dispatcher its inputs and carries out its decisions: changes go to the store, requests to the link.
package final class OutboxService {
    private var dispatcher: Dispatcher
    private let feed: EventFeed
    private unowned let gateway: any GatewayCalls
    private let events: ServiceEvents
    private let transcript: TranscriptReader
    private var timer: TimerID?
    private var answers: [CommandToken: (Result<OutboxEntry, OutboxRefusal>) -> Void] = [:]
    private var lastToken: Int64 = 0
    private var open = OpenEntries()
    /// Calls given up as unanswered whose answer may still come over the same connection.
    private var overdue: [CallID: AttemptID] = [:]
    private var resets = PendingResets()
    /// The time that the reference client waits for an answer.
    private static let answerMilliseconds: Int64 = 30_000
    private static let adoptAgainMilliseconds: Int64 = 1_000
    /// Counts since the start: attempts by their outcome, and entries by their last state.
    package private(set) var attempts: [AttemptClass: UInt64] = [:]
    package private(set) var ended: [OutboxState: UInt64] = [:]
    /// The reason why the saved entries could not be read; nothing is sent until they are.
    package private(set) var fault: String?

    package init(
        policy: OutboxPolicy,
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        transcript: TranscriptReader,
        seed: UInt64
    ) {
        dispatcher = Dispatcher(policy: policy, seed: seed)
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.transcript = transcript
    }

    package func blockedReason(session: String) -> String? { dispatcher.blockedReason(session: session) }

    /// - Parameter sessions: nil for all. Only that summary includes the attempts.
    package func summary(of sessions: SessionSet? = nil, now: Timestamp) -> OutboxSummary {
        var report = sessions.map { open.summary(of: $0, now: now) } ?? open.summary(now: now)
        if sessions == nil { report.attempts = attempts }
        if dispatcher.refusesSome { report.refused = open.waiting(of: sessions) { dispatcher.isRefusing($0) } }
        report.fault = fault
        let journal = feed.journal
        report.closed =
            journal.health.refusal?.detail ?? (journal.statistics.failing == .storageFull ? "the disk is full" : nil)
        return report
    }

    /// The sessions in which entries wait, the one with the newest entry first.
    var sessions: [SessionKey] { open.sessions }

    /// The room that the open messages of one sender take.
    func room(of owner: String) -> OutboxRoom { open.room(of: owner) }

    /// The oldest entry that needs a person: it failed or expired, or may not have arrived.
    func oldestTroubled(of sessions: SessionSet?) -> String? { open.oldestTroubled(of: sessions) }

    // MARK: Inputs

    /// Loads the entries of an earlier process. Nothing is sent before they are loaded.
    package func load(on loop: isolated EventLoop) {
        feed.readSaved("outbox", on: loop) { tables in
            let entries = try tables.outbox.open()
            return (entries, try tables.outbox.stops(since: entries), try Self.ends(of: entries, tables))
        } failed: { [weak self] fault in
            self?.fault = fault
            self?.give(.loadFailed(detail: fault), on: loop)
        } completion: { [weak self] entries, stops, ends in
            guard let self else { return }
            self.fault = nil
            for entry in entries { self.open.note(entry) }
            for run in stops.all.compactMap(\.stoppedRun) { self.stopped(run: run, on: loop) }
            for run in stops.foundNothing.compactMap(\.stoppedRun) { self.give(.nothingToStop(run: run), on: loop) }
            for (entry, _) in ends { self.run(entry.run, in: entry.session, .ended, on: loop) }
            self.give(.loaded(entries), on: loop)
            for (entry, end) in ends where end.showsDelivery { self.saw(key: entry.upstreamKey, .runEnd, on: loop) }
        }
    }

    /// The ends of runs that reached the disk before the changes of their entries did, as when Ladle was killed between the two
    /// writes.
    private static func ends(
        of entries: [OutboxEntry],
        _ tables: StoreTables
    ) throws -> [(OutboxEntry, Ending.How)] {
        try entries.compactMap { entry in
            guard entry.kind.startsRun, entry.firstDispatchAt != nil else { return nil }
            return try tables.runs.end(id: entry.run).map { (entry, $0) }
        }
    }

    package func enqueued(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        open.note(entry)
        give(.enqueued(entry), on: loop)
    }

    func linkIs(_ condition: LinkCondition, on loop: isolated EventLoop) {
        overdue.removeAll()
        give(.link(condition), on: loop)
    }

    /// The gateway takes nothing while the link is paused.
    func pauseIs(_ status: LinkStatus, on loop: isolated EventLoop) {
        switch status.state {
        case .paused: give(.paused(detail: status.detail), on: loop)
        case .online: give(.goesOn, on: loop)
        case .connecting, .waitingForApproval, .refused, .offline: break
        }
    }

    package func run(_ run: String, in session: String, _ phase: RunPhase, on loop: isolated EventLoop) {
        if case .continued(let answer) = phase { adopt(answer, after: run, on: loop) }
        give(.run(session: session, run: run, phase: phase), on: loop)
    }

    /// The gateway continues an interrupted run under another id. A message that was delivered long ago takes that id,
    /// because its answer comes from that run. So does one that begins under its own key after all.
    private func adopt(_ answer: String, after run: String, on loop: isolated EventLoop) {
        guard dispatcher.entry(id: OutboxEntry.entryID(ofKey: run)) == nil else { return }
        feed.read(on: loop) { tables in
            try tables.outbox.entry(answeredBy: run)
        } completion: { [weak self] result in
            guard let self else { return }
            guard case .success(let found) = result else { return self.adoptLater(answer, after: run, on: loop) }
            guard let entry = found, entry.state == .delivered, entry.joinedRun == nil,
                entry.run == run || entry.upstreamKey == answer, entry.runID != answer,
                self.dispatcher.entry(id: entry.id) == nil
            else { return }
            let change = self.dispatcher.rules.adopted(entry, run: answer, now: loop.wallClock)
            self.feed.commit(on: loop) { transaction in
                try transaction.apply(change)
            } completion: { [weak self] result in
                guard let self else { return }
                guard case .success(.applied) = result else { return self.adoptLater(answer, after: run, on: loop) }
                self.events.notify(.entryChanged(change.entry), on: loop)
            }
        }
    }

    /// The new run is a fact, so its entry is read and written again until the disk takes it.
    private func adoptLater(_ answer: String, after run: String, on loop: isolated EventLoop) {
        loop.after(milliseconds: Self.adoptAgainMilliseconds) { [weak self] in
            self?.adopt(answer, after: run, on: loop)
        }
    }

    /// A stop was taken back. Its message may go again, unless another stop of the run stands.
    private func stopChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard let run = entry.stoppedRun, entry.state == .cancelled else { return }
        // This read goes through `commit`, and so in one order with the writes: a stop that comes now must not be overtaken by an
        // answer from before it.
        feed.commit(on: loop) { transaction in
            try transaction.outbox.stop(ofRun: run, in: entry.session)
        } completion: { [weak self] result in
            guard case .success(nil) = result else { return }
            self?.give(.mayRunAgain(run: run), on: loop)
        }
    }

    /// The run is to be stopped: its message must not go out again.
    func stopped(run: String, on loop: isolated EventLoop) { give(.stopped(run: run), on: loop) }

    /// The session was reset or deleted: its waiting entries were meant for the former conversation.
    package func routeChanged(_ session: String, detail: String, on loop: isolated EventLoop) {
        give(.routeChanged(session: session, detail: detail), on: loop)
    }

    /// The answer to a call that had timed out.
    package func learned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {
        guard let attempt = overdue.removeValue(forKey: call), let entry = dispatcher.entry(id: attempt.entry) else {
            return
        }
        give(.outcome(attempt, AttemptOutcome(outcome, of: entry, at: gateway.profile)), on: loop)
    }

    /// Whether an entry of ours ordered this reset of the session. The entries after that one are meant for the new
    /// conversation.
    func asked(toReset session: String, now: Timestamp) -> Bool { resets.take(session, now: now) }

    /// Called after an event of the run with this key, or another sign that the gateway has the message in memory. This
    /// is no proof: the entry becomes `accepted`, never `delivered`.
    package func taken(key: String, on loop: isolated EventLoop) {
        give(.taken(key: key), on: loop)
    }

    /// Proof that the transcript holds the message with this key, or that its run has ended.
    /// - Parameter joined: the run that read the message while it was at work on another one.
    package func saw(key: String, _ proof: OutboxProof, joined: String? = nil, on loop: isolated EventLoop) {
        give(.evidence(key: key, proof, joined: joined), on: loop)
    }

    /// The gateway acknowledged the message with this key and did not run it.
    package func refusedByRun(key: String, _ fault: OutboxFault, on loop: isolated EventLoop) {
        give(.refusedByRun(key: key, fault), on: loop)
    }

    /// The gateway would acknowledge the session's next message and not run it.
    func refuses(_ session: String, on loop: isolated EventLoop) { give(.refuses(session: session), on: loop) }

    /// The gateway runs the messages of all sessions.
    func refusesNoMore(on loop: isolated EventLoop) { give(.refusesNoMore, on: loop) }

    package func cancel(
        _ id: String,
        force: Bool,
        expectedVersion: Int64?,
        on loop: isolated EventLoop,
        then answer: @escaping (Result<OutboxEntry, OutboxRefusal>) -> Void
    ) {
        let token = newToken(answer)
        give(.cancel(id: id, force: force, expectedVersion: expectedVersion, token), on: loop)
    }

    /// Cancels the waiting entries of a session that was deleted. Messages that the gateway already has are not
    /// recalled.
    func cancelAll(of session: String, on loop: isolated EventLoop) {
        for entry in dispatcher.entries(of: session) {
            cancel(entry.id, force: true, expectedVersion: nil, on: loop) { _ in }
        }
    }

    package func retry(
        _ id: String,
        expectedVersion: Int64?,
        on loop: isolated EventLoop,
        then answer: @escaping (Result<OutboxEntry, OutboxRefusal>) -> Void
    ) {
        let token = newToken(answer)
        give(.retry(id: id, expectedVersion: expectedVersion, token), on: loop)
    }

    private func newToken(_ answer: @escaping (Result<OutboxEntry, OutboxRefusal>) -> Void) -> CommandToken {
        lastToken += 1
        let token = CommandToken(lastToken)
        answers[token] = answer
        return token
    }

    private func give(_ input: DispatcherInput, on loop: isolated EventLoop) {
        let now = Moment(
            wallMs: loop.wallClock.milliseconds,
            monotonicMs: Int64(clamping: loop.now / 1_000_000),
            gatewaySkewMs: gateway.clockSkewMs(on: loop)
        )
        for action in dispatcher.receive(input, now: now) { perform(action, on: loop) }
    }

    // MARK: Carrying out

    private func perform(_ action: DispatcherAction, on loop: isolated EventLoop) {
        switch action {
        case .load: load(on: loop)
        case .persist(let id, let change): persist(id, change, on: loop)
        case .dispatch(let order): dispatch(order, on: loop)
        case .search(let order): loop.start { [weak self] in await self?.search(order, on: loop) }
        case .discard(let entry): discard(entry, on: loop)
        case .answer(let token, let result): answers.removeValue(forKey: token)?(result)
        case .arm(let time): arm(time, on: loop)
        }
    }

    private func persist(_ id: PersistID, _ change: OutboxChange, on loop: isolated EventLoop) {
        feed.commit(on: loop) { transaction in
            try transaction.apply(change)
        } completion: { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(.applied):
                KillPoint.reach("\(change.entry.state.rawValue).committed")
                self.count(change)
                self.stopChanged(change.entry, on: loop)
                self.give(.persisted(id), on: loop)
                self.events.notify(.entryChanged(change.entry), on: loop)
            case .success(.moved(let current)):
                self.give(.persistFailed(id, .moved(current: current)), on: loop)
            case .failure(let error):
                self.give(.persistFailed(id, .storage(error as? StoreError ?? .unavailable("\(error)"))), on: loop)
            }
        }
    }

    /// Looks for an entry's message. Its text is in the database alone, and a gateway whose transcripts show no keys can be searched only
    /// by text.
    private func search(_ order: SearchOrder, on loop: isolated EventLoop) async {
        // The row has the gateway's time of the dispatch. If a clock was set since, that time is uncertain, and the search
        // begins at the earliest: an overlooked row would make the message run twice.
        let skewMs = gateway.clockSkewMs(on: loop)
        let dispatchSkewMs = order.entry.dispatchSkewMs ?? skewMs
        let earliest = order.since.adding(milliseconds: -abs(skewMs - dispatchSkewMs))
        let filled = try? await feed.read(on: loop) { try order.filled(from: $0, since: earliest) }
        // Without its text an existing row would not be recognized.
        guard let filled = filled ?? nil else { return give(.searched(order.id, .failed), on: loop) }
        let search = RowSearch(
            key: filled.entry.upstreamKey,
            words: Words(filled.entry.text ?? ""),
            since: order.since.adding(milliseconds: min(skewMs, dispatchSkewMs)),
            isClockSame: order.entry.dispatchSkewMs != nil && abs(skewMs - dispatchSkewMs) < ClockWindow.sameClockMs,
            others: filled.others,
            starts: filled.starts,
            strangers: filled.strangers,
            earlier: filled.earlier,
            aheadMs: min(skewMs, dispatchSkewMs)...max(skewMs, dispatchSkewMs)
        )
        let asked = TranscriptSearch(search: search, entry: filled.entry, transcript: transcript, gateway: gateway)
        let finding = await asked.find(on: loop)
        KillPoint.reach("search.reported")
        switch finding {
        case .report(let report): give(.searched(order.id, report), on: loop)
        case .refused(let reason):
            events.notify(.messageNotRun(key: order.entry.upstreamKey, reason: reason), on: loop)
            // A message known as refused is looked for again when something happens in its session.
            give(.searched(order.id, order.entry.wasRefused ? SearchReport(isComplete: false) : .failed), on: loop)
        }
    }

    private func count(_ change: OutboxChange) {
        let before = open.note(change.entry)
        if let attempt = change.attempt { attempts[attempt.outcome, default: 0] += 1 }
        // A delivered entry that changes its run id had ended before.
        guard before != nil, change.entry.state.hasEnded else { return }
        ended[change.entry.state, default: 0] += 1
    }

    private func dispatch(_ order: DispatchOrder, on loop: isolated EventLoop) {
        let takesQueueModes = dispatcher.takesQueueModes
        // The request is made on the store's queue, because a large payload takes time.
        feed.read(on: loop) { tables -> (request: OutboxRequest?, text: String?)? in
            guard let payload = try tables.outbox.payload(id: order.entry.id) else { return nil }
            let entry = order.entry
            let key = order.attempt.key
            return (OutboxRequest(entry, key: key, payload, takesQueueModes: takesQueueModes), payload.text)
        } completion: { [weak self] result in
            guard let self else { return }
            guard let made = try? result.get() else {
                let outcome = AttemptOutcome.notDispatched(detail: "the message could not be read from the database")
                return self.give(.outcome(order.attempt, outcome), on: loop)
            }
            self.send(order, made.request, text: made.text, on: loop)
        }
    }

    private func send(
        _ order: DispatchOrder,
        _ request: OutboxRequest?,
        text: String?,
        on loop: isolated EventLoop
    ) {
        guard let request else {
            let rejection = GatewayRejection(
                code: "UNSUPPORTED_KIND",
                message: "This version cannot send entries of kind \(order.entry.kind.rawValue).",
                retryable: false
            )
            return give(.outcome(order.attempt, .rejected(rejection)), on: loop)
        }
        if order.entry.kind == .message {
            var entry = order.entry
            entry.text = text
            events.notify(.messageDispatched(entry, key: order.attempt.key), on: loop)
        }
        if order.entry.isSlashCommand, let text {
            resets.note(text, in: order.entry.session, now: loop.wallClock)
        }
        KillPoint.reach("frame.before")
        defer { KillPoint.reach("frame.after") }
        var call: CallID?
        call = gateway.call(
            method: request.method,
            params: request.params,
            timeoutMs: Self.answerMilliseconds,
            on: loop
        ) { [weak self] outcome in
            guard let self else { return }
            if case .failed(let error, _) = outcome, error.refusesMember, error.message.contains("queueMode"),
                self.dispatcher.takesQueueModes
            {
                return self.withoutQueueMode(order, error, on: loop)
            }
            if case .failed(let error, _) = outcome, error.hasGivenUpMessage { self.discard(order.entry, on: loop) }
            let result = AttemptOutcome(outcome, of: order.entry, at: self.gateway.profile)
            if case .ambiguous(.timedOut) = outcome, order.entry.kind.startsRun, let call {
                self.overdue[call] = order.attempt
            }
            KillPoint.reach("answer.\("\(result)".prefix { $0 != "(" })")
            if case .rejected = result { return self.refused(order.attempt, result, on: loop) }
            self.give(.outcome(order.attempt, result), on: loop)
        }
    }

    /// The gateway took nothing, because it knows no queue modes. The message goes again without one, and one for the run at work
    /// first waits for its turn, like any other.
    private func withoutQueueMode(_ order: DispatchOrder, _ error: GatewayError, on loop: isolated EventLoop) {
        give(.refusesQueueModes, on: loop)
        guard order.entry.mode == .sayNow else { return dispatch(order, on: loop) }
        let rejection = GatewayRejection(code: error.code, message: error.message, reason: .outdated)
        refused(order.attempt, .rejected(rejection), on: loop)
    }

    private func refused(_ attempt: AttemptID, _ result: AttemptOutcome, on loop: isolated EventLoop) {
        events.notify(.messageRefused(key: attempt.key), on: loop)
        give(.outcome(attempt, result), on: loop)
    }

    /// A message that was interrupted stays in the gateway's list of what waits, until it runs or is dropped.
    private func discard(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        let call = ChatAbort(sessionKey: entry.session, runId: entry.upstreamKey, discardsInput: true)
        gateway.call(call, on: loop) { _ in }
    }

    private func arm(_ time: Int64?, on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let time else { return }
        let now = Int64(clamping: loop.now / 1_000_000)
        timer = loop.after(milliseconds: max(0, time - now)) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.give(.tick, on: loop)
        }
    }
}

extension SearchOrder {
    /// The order with the entry's text and the messages whose rows may be near its own; nil if the entry is gone.
    /// - Parameter earliest: the first dispatch, at the earliest.
    fileprivate func filled(from tables: StoreTables, since earliest: Timestamp) throws -> SearchOrder? {
        var order = self
        guard let payload = try tables.outbox.payload(id: entry.id) else { return nil }
        order.entry.text = payload.text ?? ""
        let runsSince = earliest.adding(milliseconds: -ClockWindow.longestRunMs)
        order.others = try tables.outbox.others(in: entry.session, besides: entry.id, since: runsSince)
        order.earlier = try tables.said.ofPeople(in: entry.session, before: earliest)
        let words = Words(order.entry.text ?? "")
        for other in order.others where Words(other.text ?? "") == words {
            order.starts[other.id] = try tables.runs.start(id: other.run)
        }
        order.strangers = try Self.strangers(beside: entry, since: ClockWindow.row(dispatchedAt: earliest).from, tables)
        return order
    }

    /// When the session's runs started of which no entry is known to be answered, by their ids. None once the entry's own run has begun.
    private static func strangers(
        beside entry: OutboxEntry,
        since: Timestamp,
        _ tables: StoreTables
    ) throws -> [String: Timestamp] {
        guard try tables.runs.start(id: entry.run) == nil else { return [:] }
        return try tables.runs.starts(in: entry.session, since: since, limit: ActivityLimits.endedRunsPerSession)
            .filter { try !tables.outbox.hasEntry(answeredBy: $0.key) }
    }
}
