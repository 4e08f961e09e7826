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
    private(set) var request: OpenAIRequest
    private let digests: RequestDigests
    private var agent = "main"
    private var modelSession: String?
    /// Fields of the answer beside those that all have.
    private(set) var fields: [(String, String)] = []

    private var door: OpenAIDoor { api.openAI }
    private var owner: String { call.caller.identity }
    /// The name under which sessions belong to the caller, whatever its rights are.
    private var callerName: String { call.caller.tokenID ?? call.caller.identity }

    private init(_ api: HTTPAPI, _ call: Call, _ request: OpenAIRequest, _ digests: RequestDigests) {
        self.api = api
        self.call = call
        self.request = request
        self.digests = digests
    }

    // MARK: Reading

    private typealias Reading = (request: OpenAIRequest, digests: RequestDigests)

    static func read(_ face: OpenAIRequest.Face, _ api: HTTPAPI, _ call: Call) async throws(OpenAIError) -> DoorIntake {
        let body = call.exchange.body
        let isLarge = body.count > MessageBody.mostOnLoop
        let read = try await (isLarge ? parseAside(face, body) : parse(face, body)).get()
        return DoorIntake(api, call, read.request, read.digests)
    }

    @concurrent private static func parseAside(
        _ face: OpenAIRequest.Face,
        _ body: [UInt8]
    ) async -> Result<Reading, OpenAIError> {
        parse(face, body)
    }

    private static func parse(_ face: OpenAIRequest.Face, _ body: [UInt8]) -> Result<Reading, OpenAIError> {
        switch Call.parse(body) {
        case .failure(let problem): .failure(OpenAIError(problem))
        case .success(let document):
            Result { () throws(OpenAIError) in
                let request = try OpenAIRequest(face, document.root)
                return (request, RequestDigests(request) { Digest.sha256($0) })
            }
        }
    }

    // MARK: The way of a request

    mutating func take(on loop: isolated EventLoop) async throws(OpenAIError) -> Outcome {
        let name = try await model(on: loop)
        if let side = SideCall(request, task: header("x-ladle-task"), isForTasks: name == .tasks) { return .side(side) }
        guard !api.isShuttingDown else { throw OpenAIError(.shuttingDown) }
        try await findAgent(name, on: loop)
        let choice = try SessionChoice(request, try hints())
        let isNamed = choice != .transcript && choice != .new
        var named = try await session(choice, on: loop)
        let sent = try await leaveOutWhatWasSent(in: isNamed ? named : nil, on: loop)
        if !isNamed, let sent { named = sent }
        if choice == .transcript, named == nil {
            // The earlier turns are not sent again: what they would do to the agent nobody can say.
            fields.append(("Ladle-Session-New", "history-unknown"))
        }
        let attachments = try checkedMessage()
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
        // Before the message is in the outbox: a client that is refused sends it again.
        guard !request.streams || api.open.hasSlot(for: call.caller) else { throw OpenAIError(.tooManyStreams) }
        let key = Hex.encode(Digest.sha256(Array("\(owner)\n\(agent)\n\(choice)\n".utf8) + digests.content))
        let unkept = { [self, named] (entry: String) in record(of: entry, in: named ?? "", at: loop.wallClock) }
        if let earlier = try await door.earlier(key, owner: owner, unkept: unkept, on: loop),
            joins(earlier, now: loop.wallClock)
        {
            fields.append(("Ladle-Joined", "true"))
            return .answer(earlier, isNew: false)
        }
        return try await send(to: named, isNamed: isNamed, key, attachments, on: loop)
    }

    /// The longest time between the loss of an answer on its way and the next try of a library.
    private static let retryMilliseconds: Int64 = 30_000

    /// Whether the request repeats the earlier one. Otherwise its equal words are said a second time.
    private func joins(_ earlier: DoorAnswer, now: Timestamp) -> Bool {
        if let count = header("x-stainless-retry-count").flatMap({ Int($0) }), count > 0 {
            return earlier.deliveredAt.map { now.milliseconds - $0.milliseconds < Self.retryMilliseconds } ?? true
        }
        if let id = header("x-ladle-message") { return id == earlier.messageID }
        // A client that repeats its request has let go of the first one. Where that is still waited for, two people say the same.
        return earlier.deliveredAt == nil && !earlier.isAwaited
    }

    /// Leaves out the user's messages that were handed to the agent before: the one of a run that was stopped or failed has no answer
    /// behind it, and would run again with the next one.
    /// - Parameter named: the session that the request names: what another one has is not left out.
    /// - Returns: the session that has them; nil if none was left out.
    private mutating func leaveOutWhatWasSent(
        in named: String?,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> String? {
        for (count, digest) in digests.beginnings.reversed() {
            let sent = conversation(digest, in: named)
            guard let session = try await door.session(of: sent, on: loop) else { continue }
            request.leaveOut(first: count)
            return session
        }
        return nil
    }

    private func conversation(_ digest: [UInt8], in named: String? = nil) -> OpenAIDoor.Conversation {
        OpenAIDoor.Conversation(digest: digest, agent: agent, caller: callerName, named: named)
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
        let agents = await api.services.agents.known(on: loop).filter { call.caller.mayUse(agent: $0) }
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
        let missing = await loop.wait { api.services.agents.missing(agent, on: loop, completion: $0) }
        if missing != nil { throw await unknownModel(on: loop) }
    }

    // MARK: Session

    private func hints() throws(OpenAIError) -> SessionChoice.Hints {
        var hints = SessionChoice.Hints()
        hints.allowed = call.caller.sessions?.texts
        hints.header = try name("X-Ladle-Session", "X-OpenClaw-Session-Key")
        hints.chat = try name("X-OpenWebUI-Chat-Id", "X-Conversation-Id")
        hints.model = modelSession
        hints.isOneSession = door.settings.isOneSession
        return hints
    }

    /// The conversation that the first of these headers names.
    private func name(_ fields: String...) throws(OpenAIError) -> String? {
        for field in fields {
            let text = call.head.fields.string(for: field.lowercased()) ?? ""
            guard text.utf8.count <= Self.longestHeader else {
                throw .invalid(field, "`\(field)` has more than \(Self.longestHeader) bytes.")
            }
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// The chosen session; nil for a new one, which is named after its first message.
    private func session(_ choice: SessionChoice, on loop: isolated EventLoop) async throws(OpenAIError) -> String? {
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
        case .transcript: return try await door.session(of: conversation(digests.history), on: loop)
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
        let field = request.face == .responses ? "input" : "messages"
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
            error.param = field
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
        isNamed: Bool,
        _ key: String,
        _ attachments: [UInt8]?,
        on loop: isolated EventLoop
    ) async throws(OpenAIError) -> Outcome {
        var message = try newMessage(to: named ?? "agent:\(agent):openai-new", attachments)
        let intake = api.services.intake
        var entry = intake.entry(for: message, now: loop.wallClock)
        if named == nil {
            // A repeat under the same key has to mean the same session.
            let name = message.key.map { SessionChoice.name(digest: Digest.sha256(Array($0.name.utf8))) }
            entry.session = "agent:\(agent):\(name ?? "openai-\(entry.id)")"
            message.session = entry.session
        }
        do throws(Problem) {
            try api.access.admitSend(call.exchange, by: call.caller, to: message.session, on: loop)
        } catch {
            throw OpenAIError(error)
        }
        intake.reserveKey(of: &message)
        let record = record(of: entry.id, in: entry.session, at: entry.createdAt)
        let sent = conversation(digests.whole, in: isNamed ? named : nil)
        message.rows = [
            OpenAIDoor.row(of: key, entry.id, message: header("x-ladle-message")), sent.row(in: entry.session),
        ]
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
        answer.conversation = conversation(digests.whole)
        answer.sent = sent
        answer.expect()
        door.add(answer)
        answer.listen(on: loop)
        switch await loop.wait(for: { intake.commit(message, as: entry, on: loop, completion: $0) }) {
        case .success(.accepted(let entry)):
            call.subject = entry.id
            door.keep(sent, in: entry.session)
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
        let unkept = record(of: entry.id, in: entry.session, at: entry.createdAt)
        return try await door.answer(of: entry.id, owner: owner, unkept: unkept, on: loop)
    }

    private func record(of entry: String, in session: String, at time: Timestamp) -> ResponseRecord? {
        guard request.face == .responses else { return nil }
        var record = ResponseRecord(
            entry: entry,
            owner: owner,
            model: request.model,
            session: session,
            input: request.text,
            created: time
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
