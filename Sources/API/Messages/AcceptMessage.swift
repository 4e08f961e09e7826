import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service

/// `POST /v1/messages`: puts one message into the outbox and gives the kind of answer its sender asked for. The message
/// is on disk before the answer.
final class AcceptMessage {
    private let api: HTTPAPI
    private let call: Call
    private let request: MessageRequest
    private var message: NewMessage
    /// The agents that exist, if the message names one that does not.
    private var agents: [String]?
    private var fields: [(name: FieldName, value: String)] = []
    private var stream: EntryStream?

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let body = call.exchange.body
        guard body.count > MessageBody.mostOnLoop, (try? call.bodyType())?.isJSON == true else {
            return try accept(api, call, nil, on: loop)
        }
        let rules = AttachmentRules(api.services.attachmentLimits)
        let bound = LoopBound((api, call), on: loop)
        Task {
            let read = await MessageBody.reading(body, rules)
            loop.post { loop in
                guard let (api, call) = bound.value(on: loop) else { return }
                call.attempt(on: loop) { () throws(Problem) in try accept(api, call, read.get(), on: loop) }
            }
        }
    }

    private static func accept(
        _ api: HTTPAPI,
        _ call: Call,
        _ body: MessageBody?,
        on loop: isolated EventLoop
    ) throws(Problem) {
        let request = try MessageRequest(call, api, body, now: loop.wallClock)
        try AcceptMessage(api, call, request).start(on: loop)
    }

    private init(_ api: HTTPAPI, _ call: Call, _ request: MessageRequest) {
        self.api = api
        self.call = call
        self.request = request
        message = request.message(from: call)
    }

    private func start(on loop: isolated EventLoop) throws(Problem) {
        guard call.caller.mayUse(session: request.session) else { throw Problem(.foreignSession) }
        try api.checkMayBegin(request.session, "session")
        try request.checkStopWord()
        guard !api.isShuttingDown else { throw .shuttingDown }
        if repeatsItself { return goOn(on: loop) }
        try api.access.admitSend(call.exchange, by: call.caller, to: request.session, on: loop)
        api.services.intake.reserveKey(of: &message)
        guard let agent = SessionKey(canonical: request.session).agent, agent != api.documents.defaultAgent else {
            return commit(on: loop)
        }
        api.services.lists.missing(agent: agent, on: loop) { [self] agents in
            self.agents = agents
            // A repeat under the key of an accepted message still gets that message's answer.
            if agents != nil { message.isReplayOnly = true }
            guard agents == nil || message.key != nil else { return refuse(unknownAgent, on: loop) }
            commit(on: loop)
        }
    }

    /// Libraries that reconnect on their own repeat the whole request, with the id of the last event they saw. Without
    /// an idempotency key such a repeat is not a second message.
    private var repeatsItself: Bool {
        guard call.answerType == .eventStream, message.key == nil else { return false }
        return call.head.fields.string(for: .lastEventID).map { !$0.isEmpty } ?? false
    }

    /// Resumes the stream like a repeat with a key does. Even if the message is not found nothing is sent: 204 ends the
    /// client's attempts.
    private func goOn(on loop: isolated EventLoop) {
        api.services.outboxReader.newest(like: message, on: loop) { [self] result in
            switch result {
            case .success(let entry?):
                let stream = EntryStream(api, call, entry, startsRun: !request.isStopOrder)
                stream.listen(on: loop)
                self.stream = stream
                fields.append((.idempotencyReplayed, "true"))
                answer(entry, isReplay: true, on: loop)
            case .success(nil): call.respond(Response(.noContent), on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    private var unknownAgent: Problem { .noAgent(of: request.session, among: agents ?? [], for: call.caller) }

    private func commit(on loop: isolated EventLoop) {
        let entry = api.services.intake.entry(for: message, now: loop.wallClock)
        if call.answerType == .eventStream {
            stream = EntryStream(api, call, entry, startsRun: !request.isStopOrder)
            stream?.listen(on: loop)
        }
        api.services.intake.commit(message, as: entry, on: loop) { [self] result in
            switch result {
            case .success(.accepted(let entry)): answer(entry, isReplay: false, on: loop)
            case .success(.repeated(let entry)):
                fields.append((.idempotencyReplayed, "true"))
                answer(entry, isReplay: true, on: loop)
            case .success(.keyReused):
                let detail = "This Idempotency-Key came with another message in the last 24 hours."
                refuse(Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key"), on: loop)
            case .success(.notAccepted): refuse(agents == nil ? .late(loop.wallClock) : unknownAgent, on: loop)
            case .success(.keyInUse): refuse(.keyInUse, on: loop)
            case .success(.full(let what, let limits)): refuse(.outboxFull(what, limits), on: loop)
            case .failure(let error): refuse(.storage(error), on: loop)
            }
        }
    }

    private func refuse(_ problem: Problem, on loop: isolated EventLoop) {
        stream?.cancel()
        call.fail(problem, on: loop)
    }

    private func answer(_ entry: OutboxEntry, isReplay: Bool, on loop: isolated EventLoop) {
        call.subject = entry.id
        // The message is in the outbox now, however long the answer takes.
        call.settle(.accepted, on: loop)
        fields.append((.location, "/v1/outbox/\(entry.id)"))
        if let stream { return stream.open(entry, isReplay: isReplay, fields, on: loop) }
        guard let seconds = request.waitSeconds, seconds > 0 else {
            return call.respond(EntryAnswer.accepted(entry, call, api, fields), on: loop)
        }
        if request.wasPreferred { fields.append((.preferenceApplied, "wait=\(seconds)")) }
        EntryWait(api, call, entry, fields, startsRun: !request.isStopOrder).start(seconds: seconds, on: loop)
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
