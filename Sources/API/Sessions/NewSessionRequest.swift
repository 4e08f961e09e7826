import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service
import TLS

/// `POST /v1/sessions`: a new conversation with its first message.
final class NewSessionRequest {
    private static let fields = ["agent", "label", "model", "text", "thinking"]

    private let api: HTTPAPI
    private let call: Call
    private let new: SessionControl.NewSession
    private let text: String?
    private let key: IdempotencyKey?

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        // The new session would be outside the token's own sessions.
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        try NewSessionRequest(api, call, now: loop.wallClock).start(on: loop)
    }

    private init(_ api: HTTPAPI, _ call: Call, now: Timestamp) throws(Problem) {
        self.api = api
        self.call = call
        let body = try call.exchange.body.isEmpty ? nil : call.jsonObject(of: Self.fields)
        let agent = try AgentParameter.field(SessionChanges.text("agent", in: body))
        text = try Self.message(in: body)
        if text != nil, case .refused(let refusal) = call.caller.decide(.send) { throw Problem(refusal) }
        key = try MessageRequest.key(of: call)
        new = SessionControl.NewSession(
            agent: agent,
            change: try body.map { body throws(Problem) in try SessionChanges.change(body, mayClear: false) }
                ?? .init(),
            id: Self.id(key, of: call.caller, now: now),
            isRepeatable: key != nil
        )
    }

    /// The first message, checked by the rules of `POST /v1/messages`.
    private static func message(in body: JSONValue?) throws(Problem) -> String? {
        guard let value = body?["text"], !value.isNull else { return nil }
        guard let text = value.string, !text.trimmingBlanks().isEmpty else {
            throw .invalidField("text", "`text` is the first message, a string.")
        }
        try MessageRequest.checkLength(text.utf8.count)
        guard !StopWords.matches(text) else {
            let detail = "The gateway takes a message that is only a stop word as an order to abort."
            throw Problem(.stopWord, detail, field: "text")
        }
        return text
    }

    /// The same key of the same caller yields the same session, even if the first answer was lost.
    private static func id(_ key: IdempotencyKey?, of caller: Caller, now: Timestamp) -> String {
        guard let key else { return UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)) }
        let hash = Digest.sha256(Array("\(caller.identity)\n\(key.value)".utf8))
        return UUIDv7.make(milliseconds: 0, random: Array(hash.prefix(10)))
    }

    private func start(on loop: isolated EventLoop) throws(Problem) {
        guard !api.isShuttingDown else { throw .shuttingDown }
        if text != nil { try api.access.admitSend(call.exchange, by: call.caller, to: new.id, on: loop) }
        api.services.sessionControl.create(new, on: loop) { [self] result in
            switch result {
            case .success(let made): say(made, on: loop)
            case .failure(let refusal):
                let (action, isRepeatable) = ("make a session", key != nil)
                let hint = "GET /v1/sessions?refresh=true shows whether there is a new one"
                SessionChanges.fail(call, refusal, doing: action, isRepeatable: isRepeatable, hint: hint, api, on: loop)
            }
        }
    }

    /// Sends the first message like any other message, under the same key.
    private func say(_ made: SessionControl.Made, on loop: isolated EventLoop) {
        call.subject = made.info.key
        guard let text else { return answer(made, nil, on: loop) }
        var message = NewMessage(session: made.info.key, text: text)
        message.key = key.map { NewMessage.Key(scope: "\(call.caller.identity) POST /v1/sessions", value: $0.value) }
        message.body = call.exchange.body
        message.owner = call.caller.identity
        message.isShared = call.caller.isLimited
        api.services.intake.reserveKey(of: &message)
        let entry = api.services.intake.entry(for: message, now: loop.wallClock)
        api.services.intake.commit(message, as: entry, on: loop) { [self] result in
            let problem: Problem
            switch result {
            case .success(.accepted(let entry)), .success(.repeated(let entry)): return answer(made, entry, on: loop)
            case .success(.keyReused):
                let detail = "This Idempotency-Key came with another first message in the last 24 hours."
                problem = Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key")
            case .success(.notAccepted): problem = .late(loop.wallClock)
            case .success(.keyInUse): problem = .keyInUse
            case .success(.full(let what, let limits)): problem = .outboxFull(what, limits)
            case .failure(let error): problem = .storage(error)
            }
            // The session was made; only its first message was not.
            call.fail(problem.adding(.location, SessionChanges.path(made.info)), on: loop)
        }
    }

    private func answer(_ made: SessionControl.Made, _ entry: OutboxEntry?, on loop: isolated EventLoop) {
        let view = SessionView(made.info, for: call.caller, entry: entry, api, on: loop)
        var response = Response.json(.created, view).adding(.location, SessionChanges.path(made.info))
        if made.isRepeat { response = response.adding(.idempotencyReplayed, "true") }
        call.respond(response, tag: view.tag, on: loop)
    }
}
