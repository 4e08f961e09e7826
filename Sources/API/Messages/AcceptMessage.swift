import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service

/// An answer to a message that comes later than its acceptance.
protocol LaterAnswer: AnyObject {
    /// Called before the message is written: its first events come before the write is reported.
    func listen(on loop: isolated EventLoop)
    /// The request repeats an earlier one, which this entry answers.
    func follow(_ entry: OutboxEntry)
    /// The message is on disk.
    func open(_ entry: OutboxEntry, isReplay: Bool, _ fields: EntryAnswer.Fields, on loop: isolated EventLoop)
    /// The message was not accepted.
    func cancel()
}

/// `POST /v1/messages`: puts one message into the outbox and gives the kind of answer its sender asked for. The message
/// is on disk before the answer.
struct AcceptMessage {
    private let api: HTTPAPI
    private let call: Call
    private let request: MessageRequest
    private var message: NewMessage
    private var fields: EntryAnswer.Fields = []

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let body = try await read(call, AttachmentRules(api.services.attachmentLimits))
        let request = try MessageRequest(call, api, body, now: loop.wallClock)
        var acceptance = AcceptMessage(api, call, request)
        try await acceptance.accept(on: loop)
    }

    private init(_ api: HTTPAPI, _ call: Call, _ request: MessageRequest) {
        self.api = api
        self.call = call
        self.request = request
        message = request.message(from: call)
    }

    /// A body of JSON; nil for one of another type. A large one takes long, so it is not read on the loop.
    private static func read(_ call: Call, _ rules: AttachmentRules) async throws(Problem) -> MessageBody? {
        let body = call.exchange.body
        guard (try? call.bodyType())?.isJSON == true else { return nil }
        if body.count <= MessageBody.mostOnLoop { return try MessageBody(body, rules) }
        return try await MessageBody.reading(body, rules).get()
    }

    private mutating func accept(on loop: isolated EventLoop) async throws(Problem) {
        guard call.caller.mayUse(session: request.session) else { throw Problem(.foreignSession) }
        try api.checkMayBegin(request.session, "session")
        try request.checkStopWord()
        guard !api.isShuttingDown else { throw .shuttingDown }
        if repeatsItself { return try await goOn(on: loop) }
        try api.access.admitSend(call.exchange, by: call.caller, to: request.session, on: loop)
        let intake = api.services.intake
        intake.reserveKey(of: &message)
        let refusal = await unknownAgent(on: loop)
        if let refusal {
            guard message.key != nil else { throw refusal }
            // A repeat under the key of an accepted message still gets that message's answer.
            message.isReplayOnly = true
        }
        let (message, entry) = (message, intake.entry(for: message, now: loop.wallClock))
        let later = laterAnswer(to: entry)
        later?.listen(on: loop)
        let outcome = await loop.wait { (done: @escaping (Result<MessageIntake.Outcome, any Error>) -> Void) in
            intake.commit(message, as: entry, on: loop) { result in
                // At once: behind the `await` an event of the entry might have come already.
                if case .success(.repeated(let entry)) = result { later?.follow(entry) }
                done(result)
            }
        }
        do throws(Problem) {
            let (accepted, isReplay) = try taken(outcome, refusal ?? .late(loop.wallClock))
            answer(accepted, isReplay: isReplay, later, on: loop)
        } catch {
            later?.cancel()
            throw error
        }
    }

    /// The entry that has the message, and whether an earlier request made it.
    private mutating func taken(
        _ outcome: Result<MessageIntake.Outcome, any Error>,
        _ refusal: Problem
    ) throws(Problem) -> (OutboxEntry, isReplay: Bool) {
        switch outcome {
        case .success(.accepted(let entry)): return (entry, false)
        case .success(.repeated(let entry)):
            fields.append((.idempotencyReplayed, "true"))
            return (entry, true)
        case .success(.keyReused):
            let detail = "This Idempotency-Key came with another message in the last 24 hours."
            throw Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key")
        case .success(.notAccepted): throw refusal
        case .success(.keyInUse): throw .keyInUse
        case .success(.full(let what, let limits)): throw .outboxFull(what, limits)
        case .failure(let error): throw .storage(error)
        }
    }

    private func unknownAgent(on loop: isolated EventLoop) async -> Problem? {
        guard let agent = SessionKey(canonical: request.session).agent, agent != api.documents.defaultAgent else {
            return nil
        }
        let agents = await loop.wait { api.services.agents.missing(agent, on: loop, completion: $0) }
        return agents.map { .noAgent(of: request.session, among: $0, for: call.caller) }
    }

    // MARK: A client that connects again

    /// Libraries that reconnect on their own repeat the whole request, with the id of the last event they saw. Without
    /// an idempotency key such a repeat is not a second message.
    private var repeatsItself: Bool {
        guard call.answerType == .eventStream, message.key == nil else { return false }
        return call.head.fields.string(for: .lastEventID).map { !$0.isEmpty } ?? false
    }

    /// Resumes the stream like a repeat with a key does. Even if the message is not found nothing is sent: 204 ends the
    /// client's attempts.
    private mutating func goOn(on loop: isolated EventLoop) async throws(Problem) {
        let (message, startsRun) = (message, !request.isStopOrder)
        var stream: EntryStream?
        let found = await loop.wait { (done: @escaping (Result<OutboxEntry?, any Error>) -> Void) in
            api.services.outboxReader.newest(like: message, on: loop) { [api, call] found in
                if case .success(let entry?) = found {
                    stream = EntryStream(api, call, entry, startsRun: startsRun)
                    stream?.listen(on: loop)
                }
                done(found)
            }
        }
        switch found {
        case .success(let entry?):
            fields.append((.idempotencyReplayed, "true"))
            answer(entry, isReplay: true, stream, on: loop)
        case .success(nil): call.respond(Response(.noContent), on: loop)
        case .failure(let error): throw .storage(error)
        }
    }

    // MARK: The answer

    /// An object that answers the message later; nil for an answer at once.
    private func laterAnswer(to entry: OutboxEntry) -> (any LaterAnswer)? {
        let startsRun = !request.isStopOrder
        if call.answerType == .eventStream { return EntryStream(api, call, entry, startsRun: startsRun) }
        guard let seconds = request.waitSeconds, seconds > 0 else { return nil }
        return EntryWait(api, call, entry, seconds: seconds, startsRun: startsRun)
    }

    private mutating func answer(
        _ entry: OutboxEntry,
        isReplay: Bool,
        _ later: (any LaterAnswer)?,
        on loop: isolated EventLoop
    ) {
        call.subject = entry.id
        // The message is in the outbox now, however long the answer takes.
        call.settle(.accepted, on: loop)
        fields.append((.location, "/v1/outbox/\(entry.id)"))
        guard let later else { return call.respond(EntryAnswer.accepted(entry, call, api, fields), on: loop) }
        if request.wasPreferred, let seconds = request.waitSeconds, later is EntryWait {
            fields.append((.preferenceApplied, "wait=\(seconds)"))
        }
        later.open(entry, isReplay: isReplay, fields, on: loop)
    }
}

extension Problem {
    static var keyInUse: Problem {
        let detail = "A request with this Idempotency-Key is just being written to disk."
        return Problem(.idempotencyInFlight, detail, field: "Idempotency-Key")
    }

    /// - Parameter agents: the gateway's agents; the answer names the ones the caller may use.
    static func noAgent(of session: String, among agents: [String], for caller: Caller) -> Problem {
        let shown = agents.filter { caller.mayUse(agent: $0) }.joined(separator: ", ")
        let agent = SessionKey(canonical: session).agent ?? ""
        return .invalidField("session", "There is no agent `\(agent)`. The gateway's agents: \(shown).")
    }

    static func outboxFull(_ what: OutboxFullness, _ limits: OutboxLimits) -> Problem {
        let rest = limits.isShared ? " The rest of the room is the owner's." : ""
        let detail =
            switch what {
            case .entries: "\(limits.entries) entries wait already (outbox.maxEntries).\(rest)"
            case .session: "\(limits.perSession) entries of this session wait already (outbox.maxPerSession)."
            case .bytes:
                "Waiting texts and attachments take \(limits.payloadBytes) bytes already (outbox.maxAttachmentBytes).\(rest)"
            case .share:
                "Your own messages that wait take your share already, a quarter of the outbox (outbox.maxEntries, "
                    + "outbox.maxAttachmentBytes)."
            }
        return Problem(.outboxFull, detail)
    }
}
