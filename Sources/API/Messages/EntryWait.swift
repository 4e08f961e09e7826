import Access
import Basics
import EventLoops
import Outbox
import Runs
import Server
import Service

/// A request that waits for the outcome of its message. Events drive it; it never polls.
final class EntryWait: OpenRequest, ExchangeOwner, LaterAnswer {
    /// A run may end a moment before the write that marks its entry delivered.
    private static let settleMilliseconds: Int64 = 2000

    private let api: HTTPAPI
    private let call: Call
    private let seconds: Int
    private let startsRun: Bool
    private var entry: OutboxEntry
    private var fields: EntryAnswer.Fields = []
    private var ended: Run?
    private var timer: TimerID?
    /// The message is on disk.
    private var isOpen = false
    private var isOver = false
    /// Its client's token ended, or Ladle stops.
    private var isCut = false

    init(_ api: HTTPAPI, _ call: Call, _ entry: OutboxEntry, seconds: Int, startsRun: Bool) {
        self.api = api
        self.call = call
        self.entry = entry
        self.seconds = seconds
        self.startsRun = startsRun
    }

    var entryID: String? { entry.id }
    var tokenID: String? { call.caller.tokenID }
    private var runID: String { api.runs.run(answering: entry) }

    func listen(on loop: isolated EventLoop) { api.open.add(self) }

    func follow(_ entry: OutboxEntry) { self.entry = entry }

    func cancel() { api.open.remove(self) }

    func open(_ entry: OutboxEntry, isReplay: Bool, _ fields: EntryAnswer.Fields, on loop: isolated EventLoop) {
        // The entry may have changed since.
        if entry.version >= self.entry.version { self.entry = entry }
        self.fields = fields
        isOpen = true
        guard !isCut else { return giveUp(on: loop) }
        call.exchange.owner = self
        timer = loop.after(milliseconds: Int64(seconds) * 1000) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.giveUp(on: loop)
        }
        look(on: loop)
    }

    /// Nothing more follows the delivery: a stop word starts no run, and a run at work that read the message answers another one.
    private var isObeyed: Bool { entry.state == .delivered && (!startsRun || entry.joinedRun != nil) }

    /// Looks at the current state: a repeated request may ask for a message that ended long ago.
    private func look(on loop: isolated EventLoop) {
        if let problem = EntryAnswer.failure(of: entry) { return fail(problem, on: loop) }
        if isObeyed { return obeyed(on: loop) }
        if let run = api.runs.run(runID), !run.state.isActive { return take(run, on: loop) }
        guard entry.state == .delivered || (entry.state == .accepted && startsRun) else { return }
        api.services.runArchive.read(runID, on: loop) { [weak self] result in
            switch result {
            case .success(let run?) where !run.state.isActive: self?.take(run, on: loop)
            case .success: break
            case .failure(let error): self?.finish(.failure(.storage(error)), on: loop)
            }
        }
    }

    // MARK: Events

    func entryChanged(_ changed: OutboxEntry, on loop: isolated EventLoop) {
        let text = entry.text
        entry = changed
        entry.text = changed.text ?? text
        guard isOpen else { return }
        if let problem = EntryAnswer.failure(of: entry) { return fail(problem, on: loop) }
        if let ended, entry.state.hasEnded { return take(ended, on: loop) }
        if isObeyed { return obeyed(on: loop) }
        // Another run may answer the entry now, and may already be over.
        if ended == nil, let run = api.runs.run(runID), !run.state.isActive { take(run, on: loop) }
    }

    private func obeyed(on loop: isolated EventLoop) {
        finish(.success(EntryAnswer.reply(nil, entry, call, fields)), on: loop)
    }

    /// A message for a missing agent may be accepted while the gateway is away. It ends with the same problem as one
    /// refused at once.
    private func fail(_ problem: Problem, on loop: isolated EventLoop) {
        guard entry.state == .failed, let agent = SessionKey(canonical: entry.session).agent,
            agent != api.documents.defaultAgent
        else { return finish(.failure(problem), on: loop) }
        if let timer { loop.cancel(timer) }
        timer = nil
        api.services.agents.missing(agent, on: loop) { [weak self] agents in
            guard let self else { return }
            guard let agents else { return self.finish(.failure(problem), on: loop) }
            var unknown = Problem.noAgent(of: self.entry.session, among: agents, for: self.call.caller)
            unknown.hint = problem.hint
            unknown.members = problem.members
            self.finish(.failure(unknown), on: loop)
        }
    }

    func runEnded(_ id: String, on loop: isolated EventLoop) {
        guard isOpen, id == runID, let run = api.runs.run(id), !run.state.isActive else { return }
        take(run, on: loop)
    }

    private func take(_ run: Run, on loop: isolated EventLoop) {
        // The gateway goes on under another id, and that run has the answer.
        if let next = run.continuedAs {
            entry.runID = next
            return look(on: loop)
        }
        // A client that has the answer finds the run's end among the events: `runEnded` follows.
        guard !api.runs.isEnding(run.id) else { return }
        if entry.state.hasEnded { return finish(EntryAnswer.ended(run, entry, call, fields), on: loop) }
        ended = run
        if let timer { loop.cancel(timer) }
        timer = loop.after(milliseconds: Self.settleMilliseconds) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.finish(EntryAnswer.ended(run, self.entry, self.call, self.fields), on: loop)
        }
    }

    // MARK: The end

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    private func giveUp(on loop: isolated EventLoop) {
        if let problem = EntryAnswer.failure(of: entry) { return finish(.failure(problem), on: loop) }
        finish(.success(EntryAnswer.accepted(entry, call, api, fields)), on: loop)
    }

    func shutDown(reason: String, on loop: isolated EventLoop) {
        isCut = true
        if isOpen { giveUp(on: loop) }
    }

    private func finish(_ answer: Result<Response, Problem>, on loop: isolated EventLoop) {
        guard !isOver else { return }
        stop(on: loop)
        switch answer {
        case .success(let response): call.respond(response, on: loop)
        case .failure(let problem): call.fail(problem.adding(fields), on: loop)
        }
    }

    private func stop(on loop: isolated EventLoop) {
        isOver = true
        if let timer { loop.cancel(timer) }
        timer = nil
        api.open.remove(self)
    }
}
