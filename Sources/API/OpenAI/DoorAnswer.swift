import Access
import Basics
import EventLoops
import OpenAI
import Outbox
import Runs
import Server
import Service

/// A stream or a request that shows an answer.
protocol DoorListener: AnyObject {
    /// The answer has grown, or is over.
    func changed(_ answer: DoorAnswer, on loop: isolated EventLoop)
}

/// The answer to one message of the OpenAI door, for all clients that show it: the first one, repeats of its request, and streams of its
/// response. It follows the message's entry and run, whether or not anybody listens.
final class DoorAnswer: EntryListener {
    private static let graceMilliseconds: Int64 = 3_000

    unowned let door: OpenAIDoor
    private let api: HTTPAPI
    private(set) var course: AnswerCourse
    private(set) var record: ResponseRecord?
    private(set) var entry: OutboxEntry
    let owner: String
    private(set) var hasBegun = false
    private(set) var endedAt: Timestamp?
    private(set) var isTruncated = false
    /// Somebody stopped the run, so that a repeat of the request is a new message.
    private(set) var isStopped = false
    /// When a client had all that it had asked for.
    private(set) var deliveredAt: Timestamp?
    /// The digest of the request, under which its repeats are found.
    var requestKey: String?
    /// The client's own id of the message.
    var messageID: String?
    /// The conversation up to the user's turn.
    var conversation: OpenAIDoor.Conversation?
    /// The same, as it is noted that the message was handed over.
    var sent: OpenAIDoor.Conversation?

    private var follower: EntryFollower?
    private var listeners: [ObjectIdentifier: any DoorListener] = [:]
    /// A client waits for the answer now.
    private(set) var isAwaited = false
    private var isWriting = false
    private var isEnding = false
    /// Flows that wait until the disk has what their clients may see.
    private var writers: [() -> Void] = []
    private var grace: TimerID?
    private var toldSteps: Set<String> = []

    /// The record is on disk, and others may read it.
    let isKept: Bool

    init(
        _ door: OpenAIDoor,
        _ entry: OutboxEntry,
        owner: String,
        record: ResponseRecord?,
        isKept: Bool,
        startsRun: Bool,
        on loop: isolated EventLoop
    ) {
        self.isKept = isKept
        self.door = door
        api = door.api
        self.entry = entry
        self.owner = owner
        self.record = record
        if let record, record.limit > 0 {
            course = AnswerCourse(resuming: record.marks, limit: record.limit)
            for case .note(let line) in record.marks.map(\.kind) { toldLines.insert(line) }
        } else {
            course = AnswerCourse(isKept: isKept)
        }
        follower = EntryFollower(api, entry, startsRun: startsRun, for: self)
    }

    /// Lines that an earlier process told. A step that is seen again has the same line.
    private var toldLines: Set<String> = []

    var runID: String { api.runs.run(answering: follower?.entry ?? entry) }
    var session: String { entry.session }
    var isActive: Bool { course.end == nil }
    /// Its bytes in memory.
    var size: Int { course.bytes.count + 1_024 }
    var created: Timestamp { entry.createdAt }

    // MARK: The message

    func listen(on loop: isolated EventLoop) { follower?.listen(on: loop) }

    func open(_ entry: OutboxEntry, isReplay: Bool, on loop: isolated EventLoop) {
        self.entry = entry
        if isReplay { catchUp(on: loop) }
        follower?.open(entry, isReplay: isReplay, on: loop)
    }

    /// The state of a run that ended before this object was made.
    func open(ended run: Run, on loop: isolated EventLoop) {
        follower?.stop()
        hasBegun = true
        for step in run.steps { tell(step) }
        take(ended: run, at: run.endedAt, on: loop)
    }

    private func take(ended run: Run, at time: Timestamp?, on loop: isolated EventLoop) {
        course.take(whole: run.text)
        isTruncated = run.isTruncated
        let usage = run.tokens.map { usage in
            AnswerUsage(
                input: usage.input,
                output: usage.output,
                cacheRead: usage.cacheRead,
                cacheWrite: usage.cacheWrite
            )
        }
        let end: AnswerCourse.End =
            switch run.state {
            case .completed: .completed(usage)
            case .aborted: .cancelled(.invalid(nil, "The run was stopped before it ended.", code: "run_aborted"))
            case .queued, .running, .failed:
                .failed(.final("run_failed", run.error ?? "The run failed; the gateway gave no reason."))
            }
        finish(end, at: time, on: loop)
    }

    func receive(_ sign: EntryFollower.Sign, on loop: isolated EventLoop) {
        if let follower { entry = follower.entry }
        switch sign {
        case .event(let event): receive(event, on: loop)
        case .text(let pieces):
            catchUp(on: loop)
            course.take(whole: pieces.compactMap(\.delta?.text).joined())
        case .waits(let reason): if door.settings.tellsSteps { course.note("waiting: \(reason)") }
        case .over where course.end == nil: return endWithoutRun(on: loop)
        case .over: break
        case .unreadable:
            finish(
                .failed(OpenAIError(503, .server, "server_error", "The database cannot be read now.")),
                at: nil,
                on: loop
            )
        }
        changed(on: loop)
    }

    private func receive(_ event: StreamEvent, on loop: isolated EventLoop) {
        switch event.type {
        case "outbox": entryChanged(event, on: loop)
        case "run.started":
            hasBegun = true
            catchUp(on: loop)
        case "run.delta":
            guard let delta = event.delta else { return }
            if !course.take(delta.text, at: delta.offset, replaces: delta.replaces) {
                course.take(whole: api.runs.run(delta.run)?.text ?? (delta.offset == 0 ? delta.text : ""))
            }
        case "run.step": catchUp(on: loop)
        case "run.ended":
            catchUp(on: loop)
            if let run = event.matter as? Run { take(ended: run, at: loop.wallClock, on: loop) }
        default: break
        }
    }

    /// Tells the steps that were not told yet.
    private func catchUp(on loop: isolated EventLoop) {
        guard let run = api.runs.run(runID) else { return }
        if run.state == .running { hasBegun = true }
        for step in run.steps { tell(step) }
    }

    private func tell(_ step: Step) {
        guard door.settings.tellsSteps, step.kind != .thinking || door.settings.tellsThoughts else { return }
        let isWaiting = step.state == .waiting
        guard toldSteps.insert(isWaiting ? "\(step.id) waits" : step.id).inserted else { return }
        guard isWaiting, let approval = step.approvalID else {
            // Its wait was told before.
            guard isWaiting || !toldSteps.contains("\(step.id) waits") else { return }
            return note(step.label)
        }
        let short = approval.prefix(8)
        note(
            "waiting for approval \(short): \(step.detail ?? step.label) (decide with: ladle approvals allow \(short))"
        )
    }

    private func note(_ line: String) {
        // Two steps may have one label; the earlier process told it at most as often.
        guard toldLines.remove(line) == nil else { return }
        course.note(line)
    }

    // MARK: A message that waits

    private func entryChanged(_ event: StreamEvent, on loop: isolated EventLoop) {
        guard entry.state == .unconfirmed, record?.isBackground != true,
            let fault = (event.matter as? OutboxEntry)?.fault, fault.code == "UNKNOWN"
        else { return }
        finish(
            .failed(
                .final("unconfirmed", "\(fault.detail) It is shown by: ladle outbox show \(entry.id)")
            ),
            at: loop.wallClock,
            on: loop
        )
    }

    /// The entry ended, and no run follows.
    private func endWithoutRun(on loop: isolated EventLoop) {
        api.services.outboxReader.read(entry.id, on: loop) { [weak self] result in
            guard let self, self.isActive else { return }
            if case .success((let entry, _)?) = result { self.entry = entry }
            // A person who goes on means the message too, which the agent never got.
            let isLost = self.entry.state == .failed || self.entry.state == .expired
            if isLost, self.entry.fault?.mayReturn != true, let sent = self.sent { self.door.forget(sent, on: loop) }
            switch self.entry.state {
            case .failed:
                let detail = self.entry.fault?.detail ?? "The gateway did not take the message."
                self.finish(
                    .failed(.final("send_rejected", detail)),
                    at: self.entry.updatedAt,
                    on: loop
                )
            case .cancelled:
                let error = OpenAIError.invalid(
                    nil,
                    "The message was taken back before it was sent.",
                    code: "run_aborted"
                )
                self.finish(.cancelled(error), at: self.entry.updatedAt, on: loop)
            case .expired:
                // An expired message would wait for a person; the client has been told that nothing comes of it.
                self.api.outbox.cancel(self.entry.id, force: false, expectedVersion: nil, on: loop) { _ in }
                let detail =
                    "The gateway could not be reached in time, so the message was taken back: "
                    + (self.entry.fault?.detail ?? "it is away") + ". Send it again when the gateway is there."
                self.finish(
                    .failed(OpenAIError(503, .server, "gateway_unavailable", detail)),
                    at: self.entry.updatedAt,
                    on: loop
                )
            default: self.finish(.completed(nil), at: self.entry.updatedAt, on: loop)
            }
            self.changed(on: loop)
        }
    }

    // MARK: The end

    private func finish(_ end: AnswerCourse.End, at time: Timestamp?, on loop: isolated EventLoop) {
        guard isActive else { return }
        course.finish(end)
        endedAt = time ?? loop.wallClock
        follower?.stop()
        if let grace { loop.cancel(grace) }
        grace = nil
        isEnding = true
        changed(on: loop)
        isEnding = false
        if case .completed = end {
            door.remember(self, course.text, on: loop)
        } else if deliveredAt != nil {
            door.delivered(self, on: loop)
        }
        door.ended(self, on: loop)
    }

    /// Everything that a client has asked for has been written to it.
    func delivered(on loop: isolated EventLoop) {
        guard deliveredAt == nil else { return }
        deliveredAt = loop.wallClock
        // Else it is written with the turns.
        if !isEnding { door.delivered(self, on: loop) }
    }

    /// The row of the request says so.
    func wasDelivered(at time: Timestamp) { deliveredAt = time }

    /// Whether a repeat of its request may have it. Of a message that was stopped, a repeat is a new message.
    var mayBeJoined: Bool {
        if case .cancelled? = course.end { return false }
        return !isStopped
    }

    /// Stops the run, or takes the message back if it has not been sent.
    func stop(on loop: isolated EventLoop) {
        guard isActive, !isStopped else { return }
        isStopped = true
        guard entry.state.isWaiting else { return abort(on: loop) }
        api.outbox.cancel(entry.id, force: false, expectedVersion: nil, on: loop) { [weak self] result in
            if case .failure = result { self?.abort(on: loop) }
        }
    }

    private func abort(on loop: isolated EventLoop) {
        api.services.aborts.stop([runID], in: session, owner: owner, on: loop) { _ in }
    }

    // MARK: Listeners

    /// A client is about to listen.
    func expect() { isAwaited = true }

    /// The client does not listen after all.
    func letGo() { isAwaited = !listeners.isEmpty }

    func add(_ listener: any DoorListener, on loop: isolated EventLoop) {
        listeners[ObjectIdentifier(listener)] = listener
        isAwaited = true
        if let grace { loop.cancel(grace) }
        grace = nil
    }

    /// - Parameter stops: nobody else may want the answer, so its run ends soon.
    func remove(_ listener: any DoorListener, stops: Bool, on loop: isolated EventLoop) {
        guard listeners.removeValue(forKey: ObjectIdentifier(listener)) != nil else { return }
        letGo()
        guard stops, listeners.isEmpty, isActive, grace == nil else { return }
        grace = loop.after(milliseconds: Self.graceMilliseconds) { [weak self] in
            guard let self else { return }
            self.grace = nil
            if self.listeners.isEmpty { self.stop(on: loop) }
        }
    }

    private func changed(on loop: isolated EventLoop) {
        keep(on: loop)
        for listener in listeners.values { listener.changed(self, on: loop) }
    }

    /// Writes the places of the course before anybody sees what comes behind them.
    private func keep(on loop: isolated EventLoop) {
        guard course.wantsKeeping, !isWriting, var row = record else { return }
        isWriting = true
        row.marks = course.marks
        row.limit = course.wantedLimit
        let (marks, limit, isOver) = (row.marks.count, row.limit, !isActive)
        record = row
        api.services.doorRows.write([DoorRows.Row(.responses, row.entry, row.bytes)], on: loop) { [weak self] _ in
            guard let self else { return }
            self.isWriting = false
            self.course.settled(marks: marks, limit: limit, isOver: isOver)
            self.changed(on: loop)
            guard !self.isWriting else { return }
            let waiting = self.writers
            self.writers = []
            for each in waiting { each() }
        }
    }

    /// Waits until the disk has the places of all that is known of the answer.
    func settle(on loop: isolated EventLoop) async {
        guard isWriting else { return }
        await loop.wait { writers.append($0) }
    }

    // MARK: Forms

    var chat: ChatAnswer {
        ChatAnswer(id: "chatcmpl-\(entry.id)", created: created.milliseconds / 1000, model: model)
    }

    /// As the request spelt it.
    var model = "ladle"

    /// The lines about the agent's work.
    var notes: [String] { course.marks.compactMap { if case .note(let line) = $0.kind { line } else { nil } } }

    var usage: AnswerUsage? { if case .completed(let usage)? = course.end { usage } else { nil } }

    /// From the request to the end.
    var milliseconds: Int64 { max(0, (endedAt ?? created).milliseconds - created.milliseconds) }

    /// Nil for a chat completion, which is not kept.
    var object: ResponseObject? {
        record.map {
            ResponseObject($0, course, status: status, run: runID, completedAt: course.isOver ? endedAt : nil)
        }
    }

    private var status: ResponseObject.Status {
        guard course.isOver else { return hasBegun ? .inProgress : .queued }
        switch course.end {
        case .completed: return .completed
        case .cancelled: return .cancelled
        case .failed, nil: return .failed
        }
    }
}
