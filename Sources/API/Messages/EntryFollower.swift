import Basics
import EventLoops
import JSONBytes
import Outbox
import Runs
import Service

/// An object that is told of a message.
protocol EntryListener: AnyObject {
    func receive(_ sign: EntryFollower.Sign, on loop: isolated EventLoop)
}

/// Follows one message: the events of its entry and of the run that answers it, in whichever run of the gateway that is, up to the last one.
final class EntryFollower {
    enum Sign {
        case event(StreamEvent)
        /// The whole text so far, as pieces that continue each other.
        case text([StreamEvent])
        /// The message waits for this.
        case waits(String)
        /// Nothing more follows.
        case over
        /// The database cannot be read, so the message's state is not known.
        case unreadable
    }

    private static let firstLookMilliseconds: Int64 = 2_000
    private static let lookMilliseconds: Int64 = 5_000

    private(set) var entry: OutboxEntry
    private let api: HTTPAPI
    private let startsRun: Bool
    private weak var listener: (any EntryListener)?
    private var observer: UInt64?
    /// Events received before the entry was known to be durable.
    private var early: [StreamEvent] = []
    private var isOpen = false
    /// The run whose start has been told.
    private var begunRun: String?
    private var toldReason: String?

    init(_ api: HTTPAPI, _ entry: OutboxEntry, startsRun: Bool, for listener: any EntryListener) {
        self.api = api
        self.entry = entry
        self.startsRun = startsRun
        self.listener = listener
    }

    /// The run that answers the message.
    var runID: String { api.runs.run(answering: entry) }

    /// Starts before the commit, because the entry's event is published before the commit is reported.
    func listen(on loop: isolated EventLoop) {
        guard observer == nil else { return }
        observer = api.hub.observe { [weak self] event in
            guard let self, self.isMeant(event) else { return }
            if self.isOpen { self.tell(event, on: loop) } else { self.early.append(event) }
        }
    }

    /// The message turned out to be another entry's.
    func follow(_ entry: OutboxEntry) {
        self.entry = entry
        early = []
    }

    /// - Parameter isReplay: the message was accepted before, so its present state comes first, as events without ids.
    func open(_ entry: OutboxEntry, isReplay: Bool, on loop: isolated EventLoop) {
        self.entry = entry
        isOpen = true
        let waiting = early
        early = []
        if isReplay {
            // The present state says all that they said.
            for event in waiting { _ = isMeant(event) }
            tellState(on: loop)
        } else {
            for event in waiting where isOpen && isMeant(event) { tell(event, on: loop) }
        }
        if isOpen { look(after: Self.firstLookMilliseconds, on: loop) }
    }

    /// Tells why the message waits, whenever the reason is another one.
    private func look(after milliseconds: Int64, on loop: isolated EventLoop) {
        loop.after(milliseconds: milliseconds) { [weak self] in
            guard let self, self.isOpen, self.begunRun == nil else { return }
            let isWaiting = self.entry.state.isWaiting || self.entry.state == .unconfirmed
            let reason = isWaiting ? self.api.outbox.blockedReason(session: self.entry.session) : nil
            if let reason, reason != self.toldReason { self.listener?.receive(.waits(reason), on: loop) }
            self.toldReason = reason
            self.look(after: Self.lookMilliseconds, on: loop)
        }
    }

    func stop() {
        isOpen = false
        if let observer { api.hub.stopObserving(observer) }
        observer = nil
        early = []
    }

    // MARK: Events

    private func isMeant(_ event: StreamEvent) -> Bool {
        if event.type == "outbox" { return event.session?.isSameText(as: entry.session) ?? false && isOwn(event) }
        guard let run = event.run, event.type.hasPrefix("run.") || event.type == "message" else { return false }
        return run == runID
    }

    private func isOwn(_ event: StreamEvent) -> Bool {
        guard let told = event.matter as? OutboxEntry, told.id.isSameText(as: entry.id) else { return false }
        // The gateway may answer a busy send with a run of its own id.
        if let run = told.runID { entry.runID = run }
        entry.joinedRun = told.joinedRun
        entry.state = told.state
        return true
    }

    private func tell(_ event: StreamEvent, on loop: isolated EventLoop) {
        if let run = event.run, event.type.hasPrefix("run."), run != begunRun {
            begunRun = run
            // The gateway began the run before Ladle knew that the run answers this message.
            if event.type != "run.started", let run = api.runs.run(run) {
                tellRun(run, on: loop)
                guard isOpen, run.state.isActive else { return }
            }
        }
        if event.type == "run.ended", let next = event.run.flatMap({ api.runs.run($0)?.continuedAs }) {
            return follow(next, on: loop)
        }
        listener?.receive(.event(event), on: loop)
        guard isOpen else { return }
        if event.type == "run.ended" { return end(on: loop) }
        let hasNoRun = entry.state == .delivered && (!startsRun || entry.joinedRun != nil)
        let isDone = EntryAnswer.failure(of: entry) != nil || hasNoRun
        if event.type == "outbox", isDone { end(on: loop) }
    }

    /// The gateway goes on with the run under another id, so the end of the former is not that of this message.
    private func follow(_ next: String, on loop: isolated EventLoop) {
        entry.runID = next
        guard let run = api.runs.run(next), !run.state.isActive else { return }
        begunRun = next
        tellRun(run, on: loop)
    }

    private func tellState(on loop: isolated EventLoop) {
        let entry = entry
        tell(
            StreamEvent(transient: "outbox", of: entry, at: loop.wallClock, session: entry.session, run: entry.runID) {
                $0.member("entry", entry)
            },
            on: loop
        )
        guard isOpen else { return }
        guard let run = api.runs.run(runID) else { return tellStored(on: loop) }
        begunRun = run.id
        if let next = run.continuedAs { return follow(next, on: loop) }
        tellRun(run, on: loop)
    }

    /// The state of a run: its start and its text so far, or its end.
    private func tellRun(_ run: Run, on loop: isolated EventLoop) {
        let type = run.state.isActive ? "run.started" : "run.ended"
        tell(
            StreamEvent(transient: type, of: run, at: loop.wallClock, session: entry.session, run: run.id) { object in
                object.key("run")
                run.write(to: &object, includingSteps: false)
            },
            on: loop
        )
        guard isOpen, !run.text.isEmpty else { return }
        let delta = StreamEvent.Delta(
            run: run.id,
            session: run.session.text,
            offset: 0,
            text: run.text,
            replaces: true
        )
        listener?.receive(.text(StreamEvent(delta, at: loop.wallClock).pieces), on: loop)
    }

    private func tellStored(on loop: isolated EventLoop) {
        guard entry.state == .delivered || entry.state == .accepted else { return }
        api.services.runArchive.read(runID, on: loop) { [weak self] result in
            guard let self, self.isOpen else { return }
            switch result {
            case .success(let run?) where !run.state.isActive:
                if let next = run.continuedAs { return self.follow(next, on: loop) }
                self.tellRun(run, on: loop)
            case .success: break
            case .failure: self.listener?.receive(.unreadable, on: loop)
            }
        }
    }

    private func end(on loop: isolated EventLoop) {
        stop()
        listener?.receive(.over, on: loop)
    }
}
