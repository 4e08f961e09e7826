import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import OpenAI
import Outbox
import Runs
import Server
import Service
import TLS

/// Takes a request for an answer: reads it, answers side calls, finds its session, and puts its message into the outbox unless the request is a
/// repeat.
struct DoorIntake {
    enum Outcome {
        case side(SideCall)
        case answer(DoorAnswer, isNew: Bool)
    }

    /// The gateway's own window for a message that somebody waits for.
    private static let patienceMilliseconds: Int64 = 600_000
    private static let longestHeader = 512

    let api: HTTPAPI
    let call: Call
    let request: OpenAIRequest
    private var agent = "main"
    private var modelSession: String?
    /// Fields of the answer beside those that all have.
    private(set) var fields: [(String, String)] = []

    private var door: OpenAIDoor { api.openAI }
    private var owner: String { call.caller.identity }
    /// The name under which sessions belong to the caller, whatever its rights are.
    private var callerName: String { call.caller.tokenID ?? call.caller.identity }

    init(_ api: HTTPAPI, _ call: Call, _ request: OpenAIRequest) {
        self.api = api
        self.call = call
        self.request = request
    }

    // MARK: Reading

    static func read(_ face: OpenAIRequest.Face, _ call: Call) async throws(OpenAIError) -> OpenAIRequest {
        let body = call.exchange.body
        guard body.count > MessageBody.mostOnLoop else { return try parse(face, body).get() }
        return try await parseAside(face, body).get()
    }

    @concurrent private static func parseAside(
        _ face: OpenAIRequest.Face,
        _ body: [UInt8]
    ) async -> Result<OpenAIRequest, OpenAIError> {
        parse(face, body)
    }

    private static func parse(_ face: OpenAIRequest.Face, _ body: [UInt8]) -> Result<OpenAIRequest, OpenAIError> {
        switch Call.parse(body) {
        case .failure(let problem): .failure(OpenAIError(problem))
        case .success(let document): Result { () throws(OpenAIError) in try OpenAIRequest(face, document.root) }
        }
    }

    // MARK: The way of a request

    mutating func take(on loop: isolated EventLoop) async throws(OpenAIError) -> Outcome {
        let name = try await model(on: loop)
        if let side = SideCall(request, task: header("x-ladle-task"), isForTasks: name == .tasks) { return .side(side) }
        guard !api.isShuttingDown else { throw OpenAIError(.shuttingDown) }
        try await findAgent(name, on: loop)
        let attachments = try checkedMessage()
        let choice = try SessionChoice(request, hints)
        let named = try await session(choice, on: loop)
        if let named {
            guard call.caller.mayUse(session: named) else { throw foreign(named) }
            do throws(Problem) {
                try api.checkMayBegin(named, "X-Ladle-Session")
            } catch {
                throw OpenAIError(error)
            }
        } else if call.caller.sessions != nil {
            throw foreign("a new one")
        }
        let key = Hex.encode(
            Digest.sha256(RequestMeaning.request(request, choice: choice, agent: agent, caller: owner))
        )
        if let earlier = try await door.earlier(key, owner: owner, on: loop), joins(earlier) {
            fields.append(("Ladle-Joined", "true"))
            return .answer(earlier.answer, isNew: false)
        }
        return try await send(to: named, key, attachments, on: loop)
    }

    /// Whether the request repeats the earlier one. Otherwise its equal words are said a second time.
    private func joins(_ earlier: OpenAIDoor.Earlier) -> Bool {
        if let count = header("x-stainless-retry-count").flatMap({ Int($0) }), count > 0 { return true }
        if let id = header("x-ladle-message") { return id == earlier.messageID }
        return !earlier.isDelivered
    }

    /// A header's value; nil for an empty one, which programs send where their template has no value.
    private func header(_ name: String) -> String? {
        guard let text = call.head.fields.string(for: name), !text.isEmpty, text.utf8.count <= Self.longestHeader else {
            return nil
        }
        return text
    }

    // MARK: Model and agent

    private func model(on loop: isolated EventLoop) async throws(OpenAIError) -> ModelName {
        if let name = ModelName(request.model) { return name }
        guard !door.settings.takesAnyModel else { return .agent(nil) }
        throw await unknownModel(on: loop)
    }

    private func unknownModel(on loop: isolated EventLoop) async -> OpenAIError {
        let agents = await api.services.lists.knownAgents(on: loop).filter { call.caller.mayUse(agent: $0) }
        let names = (["ladle"] + agents.map { "ladle/\($0)" }).joined(separator: ", ")
        let model = Printable.escaped(request.model.shortened).text
        return .notFound(
            "There is no model `\(model)`. The models are agents: \(names).",
            code: "model_not_found",
            param: "model"
        )
    }

    private mutating func findAgent(_ name: ModelName, on loop: isolated EventLoop) async throws(OpenAIError) {
        var wanted: String?
        switch name {
        case .agent(let id): wanted = id
        case .label(let id, let label): (wanted, modelSession) = (id, "agent:\(id):\(label)")
        case .session(let key): (wanted, modelSession) = (SessionKey(canonical: key).agent, key)
        case .tasks: break
        }
        if let other = header("x-openclaw-agent-id") {
            guard ModelName.isAgent(other) else {
                throw .invalid(
                    "x-openclaw-agent-id",
                    "`x-openclaw-agent-id` is an agent's id: small letters, digits, _ and -."
                )
            }
            wanted = other
        }
        let usual = api.documents.defaultAgent
        if wanted == nil, let only = call.caller.sessions?.texts, only.count == 1 {
            wanted = SessionKey(canonical: only[0]).agent
        }
        agent = wanted ?? usual
        guard agent != usual else { return }
        let missing = await loop.wait { api.services.lists.missing(agent: agent, on: loop, completion: $0) }
        if missing != nil { throw await unknownModel(on: loop) }
    }

    // MARK: Session

    private var hints: SessionChoice.Hints {
        var hints = SessionChoice.Hints()
        hints.allowed = call.caller.sessions?.texts
        hints.header = header("x-ladle-session") ?? header("x-openclaw-session-key")
        hints.chat = header("x-openwebui-chat-id") ?? header("x-conversation-id")
        hints.model = modelSession
        hints.isOneSession = door.settings.isOneSession
        return hints
    }

    /// The chosen session; nil for a new one, which is named after its first message.
    private mutating func session(_ choice: SessionChoice, on loop: isolated EventLoop) async throws(OpenAIError)
        -> String?
    {
        switch choice {
        case .key(let text):
            return try canonical(text.hasPrefix("agent:") ? text : "agent:\(agent):\(text)", "X-Ladle-Session")
        case .derived(let value): return derived(value)
        case .previous(let id):
            guard let before = try await door.response(id, owner: owner, on: loop) else {
                let shown = Printable.escaped(id.shortened).text
                throw .notFound(
                    "There is no response `\(shown)`. Responses are kept for a week, for the key that made them.",
                    code: "previous_response_not_found",
                    param: "previous_response_id"
                )
            }
            return before.session
        case .conversation(let id):
            guard try await ConversationOperations.find(id, api, call, on: loop) != nil else {
                throw ConversationOperations.unknown(id, param: "conversation")
            }
            return derived(id)
        case .transcript:
            let digest = OpenAIDoor.digest(of: request.history, agent: agent, caller: callerName)
            if let known = try await door.session(ofTurns: digest, on: loop) { return known }
            // The earlier turns are not sent again: what they would do to the agent nobody can say.
            fields.append(("Ladle-Session-New", "history-unknown"))
            return nil
        case .new: return nil
        case .one:
            guard case .token(let token) = call.caller else {
                return try canonical("agent:\(agent):openai-owner", "session")
            }
            let name = token.name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
            return try canonical("agent:\(agent):openai-\(String(name))", "session")
        }
    }

    private func derived(_ value: String) -> String {
        "agent:\(agent):\(SessionChoice.name(digest: Digest.sha256(SessionChoice.meaning(of: value, by: callerName))))"
    }

    private func canonical(_ text: String, _ field: String) throws(OpenAIError) -> String {
        do throws(Problem) {
            return try api.runs.session(named: text, field)
        } catch {
            throw OpenAIError(error)
        }
    }

    private func foreign(_ session: String) -> OpenAIError {
        let own = call.caller.sessions?.texts.joined(separator: ", ") ?? ""
        return OpenAIError(
            403,
            .permission,
            "insufficient_permissions",
            "The key is limited to the sessions \(own), and the request is for \(session). Send one of them as X-Ladle-Session.",
            param: "X-Ladle-Session"
        )
    }

    // MARK: The message

    /// Checks text and attachments.
    /// - Returns: the attachments as they are stored.
    private func checkedMessage() throws(OpenAIError) -> [UInt8]? {
        let field = request.face == .chat ? "messages" : "input"
        guard !request.attachments.isEmpty || RequestMeaning.normalized(request.text) != "" else {
            throw .invalid(field, "The last user message is empty: there is nothing to send.")
        }
        guard !request.text.utf8.contains(0) else {
            throw .invalid(field, "The text has a NUL character, which the gateway refuses.")
        }
        do throws(Problem) {
            try MessageRequest.checkLength(request.text.utf8.count)
            guard !request.attachments.isEmpty else { return nil }
            var writer = JSONWriter(capacity: request.attachments.reduce(256) { $0 + $1.data.utf8.count + 128 })
            writer.array { list in
                for item in request.attachments {
                    list.object { object in
                        object.member("name", item.name)
                        object.member("mimeType", item.type)
                        object.member("data", item.data)
                    }
                }
            }
            let document = try Call.parse(writer.bytes).get()
            let checked = try AttachmentRules(api.services.attachmentLimits).check(document.root)
            let limit = api.services.messageBodyLimit
            guard request.text.utf8.count + (checked?.count ?? 0) <= limit else {
                throw Problem(
                    .messageTooLarge,
                    "The message is larger than the gateway's frame of \(limit) bytes.",
                    field: field
                )
            }
            return checked
        } catch {
            var error = OpenAIError(error)
            error.param = error.param.map { "\(field): \($0)" } ?? field
            throw error
        }
    }

    private func newMessage(to session: String, _ attachments: [UInt8]?) throws(OpenAIError) -> NewMessage {
        var message = NewMessage(session: session, text: request.text)
        message.attachments = attachments
        message.ttlMilliseconds = request.isBackground ? nil : Self.patienceMilliseconds
        message.owner = owner
        message.isShared = call.caller.isLimited
        do throws(Problem) {
            if let key = try MessageRequest.key(of: call) {
                message.key = NewMessage.Key(scope: "\(owner) \(call.route.operation)", value: key.value)
                message.body = call.exchange.body
            }
        } catch {
            throw OpenAIError(error)
        }
        return message
    }

    private mutating func send(
        to named: String?,
        _ key: String,
        _ attachments: [UInt8]?,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> Outcome {
        var message = try newMessage(to: named ?? "agent:\(agent):openai-new", attachments)
        do throws(Problem) {
            try api.access.admitSend(call.exchange, by: call.caller, to: message.session, on: loop)
        } catch {
            throw OpenAIError(error)
        }
        let intake = api.services.intake
        var entry = intake.entry(for: message, now: loop.wallClock)
        if named == nil {
            // A repeat under the same key has to mean the same session.
            let name = message.key.map { SessionChoice.name(digest: Digest.sha256(Array($0.name.utf8))) }
            entry.session = "agent:\(agent):\(name ?? "openai-\(entry.id)")"
            message.session = entry.session
        }
        intake.reserveKey(of: &message)
        let record = record(of: entry)
        message.rows = [OpenAIDoor.row(of: key, entry.id, message: header("x-ladle-message"))]
        if let record, request.isStored { message.rows.append(DoorRows.Row(.responses, entry.id, record.bytes)) }
        let answer = DoorAnswer(
            door,
            entry,
            owner: owner,
            record: record,
            isKept: record != nil && request.isStored,
            startsRun: !StopWords.matches(request.text),
            on: loop
        )
        answer.model = request.model
        answer.requestKey = key
        answer.messageID = header("x-ladle-message")
        answer.conversation = OpenAIDoor.digest(
            of: request.history + [OpenAIRequest.Turn(.user, request.text)],
            agent: agent,
            caller: callerName
        )
        door.add(answer)
        answer.listen(on: loop)
        switch await loop.wait(for: { intake.commit(message, as: entry, on: loop, completion: $0) }) {
        case .success(.accepted(let entry)):
            call.subject = entry.id
            answer.open(entry, isReplay: false, on: loop)
            return .answer(answer, isNew: true)
        case .success(.repeated(let entry)):
            door.discard(answer)
            guard let first = try await repeated(entry, on: loop) else { throw OpenAIError(.keyInUse) }
            fields.append(("Ladle-Joined", "true"))
            return .answer(first, isNew: false)
        case .success(.keyReused):
            door.discard(answer)
            throw .invalid(
                "Idempotency-Key",
                "This Idempotency-Key came with another request in the last 24 hours; use a new one."
            )
        case .success(.notAccepted), .success(.keyInUse):
            door.discard(answer)
            throw OpenAIError(.keyInUse)
        case .success(.full(let what, let limits)):
            door.discard(answer)
            throw OpenAIError(.outboxFull(what, limits))
        case .failure(let error):
            door.discard(answer)
            throw OpenAIError(.storage(error))
        }
    }

    /// The answer to the first request under the same Idempotency-Key.
    private func repeated(_ entry: OutboxEntry, on loop: isolated EventLoop) async throws(OpenAIError) -> DoorAnswer? {
        if request.face == .responses, request.isStored {
            return try await door.response(SessionChoice.responsePrefix + entry.id, owner: owner, on: loop)
        }
        return try await door.answer(of: entry.id, owner: owner, record: nil, on: loop)
    }

    private func record(of entry: OutboxEntry) -> ResponseRecord? {
        guard request.face == .responses else { return nil }
        var record = ResponseRecord(
            entry: entry.id,
            owner: owner,
            model: request.model,
            session: entry.session,
            input: request.text,
            created: entry.createdAt
        )
        record.instructions = request.instructions.first
        record.metadata = request.metadata
        record.previous = request.previous
        record.conversation = request.conversation
        record.isBackground = request.isBackground
        record.streams = request.streams
        return record
    }
}
