package import Basics
package import EventLoops
package import Gateway
import JSONBytes
package import Labels
import Ledger
package import Outbox
package import Runs
import Store

/// Follows the gateway's runs. Events and pages of transcripts go to the run tracker. Its changes become rows and events, and the
/// outbox learns which entries are proven and which sessions are busy.
package final class RunService {
    private static let tickMilliseconds: Int64 = 1_000
    /// The pause between ticks while rows are expected that no event reports.
    private static let fastTickMilliseconds: Int64 = 500
    private static let pageRows = RunTracker.pageRows
    /// The most transcripts requested at one time, to leave room for other requests.
    private static let mostLooks = 16
    /// The work for looks that a gateway gets at one time. It answers one request after the other, in 70 ms or more,
    /// and needs time for its own work.
    private static let looksMilliseconds: Int64 = 250

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let transcript: TranscriptReader
    private let outbox: OutboxService
    private let publisher: RunPublisher
    private var tracker: RunTracker
    private var looking: Set<SessionKey> = []
    /// The time that the gateway took for the last look.
    private var lookMilliseconds: Int64 = 0
    private var ticker: TimerID?
    private var isOnline = false
    /// The gateway's process at the last connection, and what it was of the one before.
    private(set) var process: GatewayProcess?
    private(set) var continuity = Continuity.either
    /// The gateway's process at the last connection of the Ladle before this one.
    private(set) var earlierProcess: GatewayProcess?
    private var oldSessions = RefusingSessions()
    /// A connection was open before, in this process of Ladle.
    private var isFollowing = false
    /// The reason why the runs of the earlier process could not be read; the link stays closed until they are.
    package private(set) var fault: String?

    package init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        events: ServiceEvents,
        transcript: TranscriptReader,
        outbox: OutboxService,
        labels: LabelTable,
        defaults: SessionDefaults
    ) {
        self.gateway = gateway
        self.feed = feed
        self.events = events
        self.transcript = transcript
        self.outbox = outbox
        publisher = RunPublisher(feed: feed)
        tracker = RunTracker(labels: labels, defaults: defaults)
    }

    // MARK: Reading

    /// The meaning of `main` and of bare session keys.
    package var defaults: SessionDefaults { tracker.defaults }

    /// The leader's, on a host that follows one.
    package func take(_ defaults: SessionDefaults) { tracker.defaults = defaults }
    /// The canonical form of a session's name; nil if it names none.
    package func session(named text: String) -> String? { (try? defaults.canonical(text))?.text }
    package func resolved(_ run: String) -> String { tracker.resolved(run) }
    package func run(_ id: String) -> Run? { tracker.run(id) }
    /// Whether the run is followed, or hidden from people.
    package func isKnown(_ id: String) -> Bool { tracker.session(ofRun: id) != nil || isHidden(id) }
    /// Runs in progress, in the order in which they began.
    package var active: [Run] { tracker.shown.compactMap { tracker.run($0) } }
    /// Runs whose end is on its way to the streams.
    package var ending: [Run] { publisher.ending }
    /// Whether the run has ended and its end has not reached the streams yet.
    package func isEnding(_ id: String) -> Bool { publisher.ending.contains { $0.id == id } }
    /// The number of runs in progress and of messages that wait for their turn at the gateway.
    package var activeCount: Int { tracker.activeCount }

    /// The runs in memory, newest first.
    package func runs(activeOnly: Bool = false, session: String? = nil) -> [Run] {
        tracker.runs(activeOnly: activeOnly, session: session.map { SessionKey(canonical: $0) })
    }

    /// Gives read access to the tracker.
    package func reading<Value>(_ body: (RunTracker) -> Value) -> Value { body(tracker) }

    /// Hides a run that Ladle itself caused, such as a write of a file by chat.
    package func hide(_ id: String) { tracker.hide(id) }
    package func isHidden(_ id: String) -> Bool { tracker.isHidden(id) }
    /// The session that a frame means, however it spells the key.
    package func canonical(_ key: String) -> SessionKey { tracker.defaults.tolerant(key) }

    // MARK: Events

    package func dispatched(_ entry: OutboxEntry, key: String, on loop: isolated EventLoop) {
        let session = tracker.defaults.tolerant(entry.session)
        tracker.clockSkewMs = gateway.clockSkewMs(on: loop)
        let beginsAgain = tracker.sent(key, session: session, text: entry.text ?? "", now: loop.wallClock)
        if beginsAgain { publisher.mark(tracker.resolved(key), .begunBefore) }
    }

    /// Handles an approval from a list like an event.
    func listed(_ approval: ApprovalEvent, on loop: isolated EventLoop) {
        publish(tracker.receive(.approval(approval), now: loop.wallClock), on: loop)
    }

    /// Ends the wait of the approval's step, even if no event reported the end.
    func approvalEnded(_ id: String, _ decision: ApprovalEvent.Decision, on loop: isolated EventLoop) {
        publish(tracker.approvalEnded(id, decision, now: loop.wallClock), on: loop)
    }

    package func refused(key: String) { tracker.sendFailed(key) }

    func notRun(key: String, reason: String, on loop: isolated EventLoop) {
        publish(tracker.refused(key, reason: reason, now: loop.wallClock), on: loop)
    }

    package func linkLost() {
        guard isOnline else { return }
        isOnline = false
        tracker.linkLost()
    }

    package func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        isOnline = true
        let defaults = SessionDefaults(
            agent: hello.defaultAgentId ?? "main",
            mainKey: hello.mainKey ?? "main",
            mainSession: hello.mainSessionKey
        )
        if defaults != tracker.defaults {
            defaults.keep(in: feed.journal, now: loop.wallClock)
            tracker.defaults = defaults
            events.notify(.defaultsChanged(defaults), on: loop)
        }
        if let profile = gateway.profile { tracker.profile = profile }
        tracker.clockSkewMs = gateway.clockSkewMs(on: loop)
        let wasKnown = isFollowing
        isFollowing = true
        note(
            GatewayProcess(
                bootID: hello.bootID,
                ageMs: hello.uptimeMs,
                gatewayTime: gateway.gatewayTime(on: loop),
                monotonicMs: Int64(clamping: loop.now / 1_000_000),
                epoch: loop.clockEpoch,
                openingMs: gateway.openingMs
            ),
            on: loop
        )
        tracker.linkOpened(process: continuity, startedAt: process?.startedAt, now: loop.wallClock)
        oldSessions.linkOpened(gateway.profile, process, isSame: wasKnown && continuity != .other)
        if continuity == .other { outbox.refusesNoMore(on: loop) }
        // The outbox waits for runs in progress, including runs that began before this connection.
        for run in tracker.busyRuns { report(run, on: loop) }
    }

    /// The session was reset or deleted, and with its conversation the gateway ended the runs in it.
    func conversationEnded(_ session: String, on loop: isolated EventLoop) {
        publish(tracker.conversationEnded(SessionKey(canonical: session), now: loop.wallClock), on: loop)
        look(on: loop)
    }

    private func note(_ now: GatewayProcess, on loop: isolated EventLoop) {
        continuity = process?.continuity(to: now) ?? .either
        process = now
        now.keep(in: feed.journal, now: loop.wallClock)
    }

    /// Called after the outbox has been told of the link.
    func resumeWatching(on loop: isolated EventLoop) {
        look(on: loop)
        keepTicking(on: loop)
    }

    package func framesLost(on loop: isolated EventLoop) {
        tracker.framesLost()
        look(on: loop)
    }

    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        publish(tracker.receive(event.payload, now: loop.wallClock), on: loop)
        if tracker.takePageRequest() { look(on: loop) }
        keepTicking(on: loop)
    }

    package func published(_ event: StreamEvent) { publisher.published(event) }

    private func report(_ run: BusyRun, on loop: isolated EventLoop) {
        let phase: RunPhase = run.isDeferred ? .deferred : run.isInterrupted ? .interrupted : .active
        outbox.run(run.id, in: run.session.text, phase, on: loop)
    }

    private func tell(_ run: Run, _ phase: RunPhase, on loop: isolated EventLoop) {
        // The gateway runs the message after all, so that its entry has a run again.
        if tracker.wasRefused(run.id) { outbox.run(run.id, in: run.session.text, .continued(as: run.id), on: loop) }
        outbox.run(run.id, in: run.session.text, phase, on: loop)
    }

    private func publish(_ changes: [RunChange], on loop: isolated EventLoop) {
        for change in changes {
            switch change {
            case .started(let run):
                let mark: RunTable.Mark? = tracker.mayBeStrangers(run.id) ? .mayBeStrangers : nil
                publisher.publish("run.started", run, mark: mark, on: loop)
                tell(run, .active, on: loop)
                events.notify(.runBegan(run.id), on: loop)
                lookForOldSession(run, on: loop)
            case .ended(let run):
                KillPoint.reach("run.ended")
                publisher.ended(run, on: loop)
                tell(run, .ended, on: loop)
                events.notify(.runEnded(run), on: loop)
                let finding = oldSessions.runEnded(in: run.session, isCompleted: run.state == .completed)
                act(on: finding, run.session, on: loop)
            case .corrected(let run):
                publisher.publish("run.corrected", run, on: loop)
                // Its answer was not read when the wrong end came.
                events.notify(.runEnded(run), on: loop)
            case .taken(let key): outbox.taken(key: key, on: loop)
            case .proven(let id, .row): outbox.saw(key: id, .history, on: loop)
            case .proven(let id, .rowEvent): outbox.saw(key: id, .messageEvent, on: loop)
            case .proven(let id, .end): outbox.saw(key: id, .runEnd, on: loop)
            case .joined(let id, let run, let proof):
                outbox.saw(key: id, proof == .row ? .history : .messageEvent, joined: run, on: loop)
            case .dropped(let id, let session): outbox.run(id, in: session.text, .ended, on: loop)
            case .refused(let id, let reason):
                let isConflict = GatewayError.isSessionConflict(reason)
                if isConflict { oldSessions.sawRefusal(by: process) }
                let fault: OutboxFault =
                    isConflict ? .sessionConflict(reason) : GatewayError.isDraining(reason) ? .draining : .notRun
                outbox.refusedByRun(key: id, fault, on: loop)
            case .stepChanged(let step):
                guard let session = tracker.session(ofRun: step.runID) else { continue }
                publisher.publish(step, session: session, on: loop)
            case .textAppended(let id, let offset, let text):
                guard let session = tracker.session(ofRun: id) else { continue }
                publisher.pass(text, at: offset, replaces: false, run: id, session: session, on: loop)
            case .textReplaced(let id, let text):
                guard let session = tracker.session(ofRun: id) else { continue }
                publisher.pass(text, at: 0, replaces: true, run: id, session: session, on: loop)
            case .putAside(let id): publisher.mark(id, .putAside)
            case .deferred(let id, let session): outbox.run(id, in: session.text, .deferred, on: loop)
            case .waits(let id, let deferral): publisher.keep(deferral, of: id)
            case .reassigned(let id, let answer, let isShared):
                guard let session = tracker.session(ofRun: answer)?.text else { continue }
                // That it goes on with another run is known from now on.
                if tracker.shown.contains(answer), let run = tracker.run(answer) { publisher.keep(run) }
                // Before the entry changes, so that no kill between the two lets a stop be forgotten.
                events.notify(.runContinued(run: id, answer: answer, session: session, isShared: isShared), on: loop)
                outbox.run(id, in: session, .continued(as: answer), on: loop)
                // The answer may have ended before it was known whose it is, so its session is not busy with it.
                if tracker.run(answer)?.state.isActive != true { outbox.run(answer, in: session, .ended, on: loop) }
            case .separated(let key, let other):
                guard let session = tracker.session(ofRun: key)?.text else { continue }
                // A stop of the other run may have been meant for the message.
                events.notify(.runContinued(run: other, answer: key, session: session, isShared: true), on: loop)
                events.notify(.runSeparated(key: key, other: other), on: loop)
                outbox.run(key, in: session, .continued(as: key), on: loop)
            }
        }
    }

    // MARK: A gateway that does not run what it acknowledges

    private func lookForOldSession(_ run: Run, on loop: isolated EventLoop) {
        guard oldSessions.wantsPages, gateway.isOnline else { return }
        transcript.read(run.session.text, rows: Self.pageRows, on: loop) { [weak self] result in
            guard let self, case .success(let page) = result else { return }
            self.act(on: self.oldSessions.runBegan(run.id, in: run.session, page.rows), run.session, on: loop)
        }
    }

    private func act(on finding: RefusingSessions.Finding, _ session: SessionKey, on loop: isolated EventLoop) {
        switch finding {
        case .refuses: outbox.refuses(session.text, on: loop)
        case .refusesNoMore: outbox.refusesNoMore(on: loop)
        case .nothing: break
        }
    }

    // MARK: Asking

    private func keepTicking(on loop: isolated EventLoop) {
        guard ticker == nil else { return }
        guard tracker.activeCount > 0 || (isOnline && tracker.wantsLooks(now: loop.wallClock)) else { return }
        let wait = tracker.isFollowingRows ? Self.fastTickMilliseconds : Self.tickMilliseconds
        ticker = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.ticker = nil
            self.publish(self.tracker.tick(now: loop.wallClock), on: loop)
            // While the gateway is away, its runs are unknown; the next connection reports those in progress.
            for run in self.tracker.takeChangedBusyRuns() where self.isOnline { self.report(run, on: loop) }
            self.publisher.keepTexts(of: self.tracker, on: loop)
            self.look(on: loop)
            self.keepTicking(on: loop)
        }
    }

    /// Reads the transcripts that the tracker needs.
    private func look(on loop: isolated EventLoop) {
        guard gateway.isOnline else { return }
        let now = loop.wallClock
        let asked = loop.now
        let room = min(Self.mostLooks, max(1, Int(Self.looksMilliseconds / max(1, lookMilliseconds)))) - looking.count
        for session in tracker.takeLooks(now: now, room: room, except: looking) {
            looking.insert(session)
            transcript.read(session.text, rows: Self.pageRows, longTexts: true, on: loop) { [weak self] result in
                guard let self else { return }
                self.looking.remove(session)
                self.lookMilliseconds = Int64(clamping: (loop.now - asked) / 1_000_000)
                guard case .success(let page) = result else {
                    self.tracker.lookFailed(session)
                    return self.keepTicking(on: loop)
                }
                self.tracker.clockSkewMs = self.gateway.clockSkewMs(on: loop)
                let changes = self.tracker.receive(page, session: session, askedAt: now, now: loop.wallClock)
                self.publish(changes, on: loop)
                self.ask(about: session, on: loop)
            }
        }
    }

    /// Asks the gateway about the runs that the page left open.
    private func ask(about session: SessionKey, on loop: isolated EventLoop) {
        for question in tracker.questions(session, now: loop.wallClock) {
            switch question {
            case .state(let run):
                gateway.call(AgentWait(runId: run), on: loop) { [weak self] result in
                    guard let self, case .success(let answer) = result else { return }
                    self.answered(self.tracker.receive(answer, run: run, now: loop.wallClock), on: loop)
                }
            case .end(let run, let conversation):
                let call = SessionsStatus(key: session.text, conversation: conversation, run: run)
                gateway.call(call, on: loop) { [weak self] result in
                    guard let self, case .success(let answer) = result else { return }
                    self.answered(self.tracker.receive(answer, run: run, now: loop.wallClock), on: loop)
                }
            }
        }
    }

    private func answered(_ changes: [RunChange], on loop: isolated EventLoop) {
        publish(changes, on: loop)
        if tracker.takePageRequest() { look(on: loop) }
    }

    // MARK: Runs from the database

    /// Goes on with the runs that the database has.
    /// - Parameter completion: called once they are read, when the link may open. An earlier event of a run in progress would start
    ///   it anew.
    package func load(on loop: isolated EventLoop, completion: @escaping () -> Void) {
        let now = loop.wallClock
        feed.readSaved("runs", on: loop) { tables in
            try KnownRuns(tables, now: now)
        } failed: { [weak self] fault in
            self?.fault = fault
        } completion: { [weak self] known in
            guard let self else { return }
            self.fault = nil
            self.earlierProcess = self.earlierProcess ?? known.process
            self.process = self.process ?? known.process
            for run in known.runs { self.follow(run, on: loop) }
            completion()
        }
    }

    private func follow(_ run: KnownRun, on loop: isolated EventLoop) {
        var run = run
        run.session = tracker.defaults.tolerant(run.session.text)
        publish(tracker.follow(run, now: loop.wallClock), on: loop)
        guard isOnline else { return }
        look(on: loop)
        keepTicking(on: loop)
    }

    /// Called when an entry has changed. If the run of a delivered message was never seen, the transcript must show it.
    package func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard entry.kind == .message else { return }
        tracker.entryChanged(key: entry.upstreamKey)
        if entry.state.hasEnded { tracker.deliveryIsOver(entry.run) }
        let isOver = entry.state.hasEnded && entry.state != .delivered && tracker.run(entry.run)?.state == .queued
        if entry.isCancelledUnsent || entry.joinedRun != nil || entry.letsOthersGo || isOver {
            publish(tracker.lost(entry.run, now: loop.wallClock), on: loop)
        }
        if entry.state == .retrying { publish(tracker.awaitsResend(entry.run), on: loop) }
        guard entry.state == .delivered, entry.joinedRun == nil, isUnseen(entry) else { return }
        feed.read(on: loop) { tables -> OutboxEntry? in
            guard try KnownRuns.lacksRun(entry, tables) else { return nil }
            var entry = entry
            entry.text = try tables.outbox.payload(id: entry.id)?.text
            return entry
        } completion: { [weak self] result in
            // If the disk cannot be read, the transcript decides.
            let unseen: OutboxEntry? = if case .success(let found) = result { found } else { entry }
            guard let self, let unseen, self.isUnseen(unseen) else { return }
            let goneAt = self.wasTakenBefore(unseen, on: loop) ? loop.wallClock : nil
            self.follow(KnownRun(unseen, goneAt: goneAt), on: loop)
        }
    }

    /// Whether the message's run was never seen. Also true for a waiting run whose message the transcript already has:
    /// the run may have begun and ended while the link was down.
    private func isUnseen(_ entry: OutboxEntry) -> Bool {
        guard !tracker.isHidden(entry.run) else { return false }
        guard let run = tracker.run(entry.run) else { return true }
        return run.state == .queued && [.history, .textMatch].contains(entry.proof)
    }

    /// Whether the message went to an earlier process of the gateway.
    private func wasTakenBefore(_ entry: OutboxEntry, on loop: isolated EventLoop) -> Bool {
        guard isOnline, let start = process?.startedAt else { return false }
        // After a refusal, or an apparent absence, the dispatch time is not known.
        let sent = entry.firstDispatchAt ?? entry.createdAt
        let skewMs = entry.dispatchSkewMs ?? gateway.clockSkewMs(on: loop)
        return GatewayProcess.began(start, after: sent.adding(milliseconds: skewMs))
    }
}
