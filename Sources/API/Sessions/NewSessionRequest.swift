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
enum NewSessionRequest {
    private static let fields = ["agent", "label", "model", "text", "thinking"]

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        // The new session would be outside the token's own sessions.
        guard call.caller.sessions == nil else { throw Problem(.foreignSession) }
        let body = try call.exchange.body.isEmpty ? nil : call.jsonObject(of: fields)
        let agent = try AgentParameter.field(SessionChanges.text("agent", in: body))
        let text = try message(in: body)
        if text != nil, case .refused(let refusal) = call.caller.decide(.send) { throw Problem(refusal) }
        let key = try MessageRequest.key(of: call)
        let new = SessionControl.NewSession(
            agent: agent,
            change: try body.map { body throws(Problem) in try SessionChanges.change(body, mayClear: false) }
                ?? .init(),
            id: id(key, of: call.caller, now: loop.wallClock),
            isRepeatable: key != nil
        )
        guard !api.isShuttingDown else { throw .shuttingDown }
        // Also without a message: the gateway keeps each session, and Ladle a row of it in its list.
        try api.access.admitSend(call.exchange, by: call.caller, to: new.id, on: loop)
        let made: SessionControl.Made
        do throws(SessionControl.Refusal) {
            made = try await api.services.sessionControl.create(new, on: loop)
        } catch {
            let hint = "GET /v1/sessions?refresh=true shows whether there is a new one"
            let (action, isRepeatable) = ("make a session", key != nil)
            throw Problem(error, doing: action, isRepeatable: isRepeatable, hint: hint, for: call, api, on: loop)
        }
        call.subject = made.info.key
        var entry: OutboxEntry?
        do throws(Problem) {
            if let text { entry = try await say(text, key, to: made.info.key, api, call, on: loop) }
        } catch {
            // The session was made; only its first message was not.
            throw error.adding(.location, SessionChanges.path(made.info))
        }
        let view = SessionView(made.info, for: call.caller, entry: entry, api, on: loop)
        var response = Response.json(.created, view).adding(.location, SessionChanges.path(made.info))
        if made.isRepeat { response = response.adding(.idempotencyReplayed, "true") }
        call.respond(response, tag: view.tag, on: loop)
    }

    /// Sends the first message like any other message, under the same key.
    private static func say(
        _ text: String,
        _ key: IdempotencyKey?,
        to session: String,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(Problem) -> OutboxEntry {
        let intake = api.services.intake
        var message = NewMessage(session: session, text: text)
        message.key = key.map { NewMessage.Key(scope: "\(call.caller.identity) POST /v1/sessions", value: $0.value) }
        message.body = call.exchange.body
        message.owner = call.caller.identity
        message.isShared = call.caller.isLimited
        intake.reserveKey(of: &message)
        let entry = intake.entry(for: message, now: loop.wallClock)
        switch await loop.wait(for: { intake.commit(message, as: entry, on: loop, completion: $0) }) {
        case .success(.accepted(let entry)), .success(.repeated(let entry)): return entry
        case .success(.keyReused):
            let detail = "This Idempotency-Key came with another first message in the last 24 hours."
            throw Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key")
        case .success(.notAccepted): throw .late(loop.wallClock)
        case .success(.keyInUse): throw .keyInUse
        case .success(.full(let what, let limits)): throw .outboxFull(what, limits)
        case .failure(let error): throw .storage(error)
        }
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
}
