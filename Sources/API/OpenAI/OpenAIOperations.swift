import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import OpenAI
import Server
import Service

/// `/openai/v1`: OpenAI's own API, for programs that know no other. Models are agents; the body of every error is OpenAI's.
enum OpenAIOperations {
    /// A handler of the door, whose errors are OpenAI's.
    typealias Flow = @Sendable (HTTPAPI, Call, isolated EventLoop) async throws(OpenAIError) -> Void

    static let routes = [
        Route("openaiListModels", .get, "/openai/v1/models", scope: .send, handler: flow(listModels)),
        Route("openaiGetModel", .get, "/openai/v1/models/{model}", scope: .send, handler: flow(getModel)),
        Route("openaiGetAgentModel", .get, "/openai/v1/models/{family}/{model}", scope: .send, handler: flow(getModel)),
        Route(
            "openaiChat",
            .post,
            "/openai/v1/chat/completions",
            scope: .send,
            body: OpenAIOperations.body,
            produces: [.json, .eventStream],
            handler: flow(chat)
        ),
    ]

    /// The history that clients repeat, and the pictures in it.
    static let body = Route.Body.upTo(32 << 20, types: [.json])

    static func flow(_ flow: @escaping Flow, face: DoorFace = .openAI) -> Route.Handler {
        { api, call, loop throws(Problem) in
            guard api.settings.openAI.isEnabled else {
                throw Problem(.notFound, "The OpenAI door is off.", hint: "ladle serve --openai-enabled")
            }
            loop.start {
                do throws(OpenAIError) {
                    try await flow(api, call, loop)
                } catch {
                    call.respond(face.response(error, requestID: call.exchange.requestID), on: loop)
                }
            }
        }
    }

    // MARK: Models

    /// Any constant will do; programs only sort by it.
    static let created: Int64 = 1_764_115_200

    static func names(_ api: HTTPAPI, _ call: Call, on loop: isolated EventLoop) async -> [String] {
        let caller = call.caller
        let agents = await api.services.agents.known(on: loop).filter { caller.mayUse(agent: $0) }
        var names = caller.mayUse(agent: api.documents.defaultAgent) ? ["ladle"] : []
        names += agents.map { "ladle/\($0)" }
        for session in caller.sessions?.texts ?? [] where caller.sessions?.texts.count ?? 0 > 1 {
            let parts = SessionKey.parts(session)
            if parts.count > 2 { names.append("ladle/\(parts[1])@\(parts[2...].joined(separator: ":"))") }
        }
        return names + [ModelName.tasksName]
    }

    private static func write(_ name: String, to list: inout JSONWriter) {
        list.object { object in
            object.member("id", name)
            object.member("object", "model")
            object.member("created", created)
            object.member("owned_by", "ladle")
        }
    }

    static func listModels(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let names = await names(api, call, on: loop)
        call.respondTagged(
            .object { object in
                object.member("object", "list")
                object.array("data") { list in for name in names { write(name, to: &list) } }
            },
            on: loop
        )
    }

    static func getModel(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let wanted = call.parameters.joined(separator: "/")
        let names = await names(api, call, on: loop)
        guard names.contains(wanted) else {
            throw .notFound(
                "There is no model `\(Printable.escaped(wanted.shortened).text)`. The models are \(names.joined(separator: ", ")).",
                code: "model_not_found",
                param: "model"
            )
        }
        call.respondTagged(.json { write(wanted, to: &$0) }, on: loop)
    }

    // MARK: Chat

    static func chat(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        var intake = try await DoorIntake.read(.chat, api, call)
        let outcome = try await intake.take(on: loop)
        let request = intake.request
        switch outcome {
        case .side(let side): try answer(side, request, api, call, on: loop)
        case .answer(let answer, _):
            let fields = fields(of: answer, request) + intake.fields
            guard request.streams else {
                let wait = DoorWait(api, call, answer, fields, stopsRun: stops(api, call, usually: false)) { answer in
                    answer.chat.whole(
                        answer.course.text,
                        notes: answer.notes,
                        reason: answer.isTruncated ? "length" : "stop",
                        usage: answer.usage
                    )
                }
                return wait.start(on: loop)
            }
            var form = answer.chat
            form.includesUsage = request.includesUsage
            let stops = stops(api, call, usually: true)
            try DoorStream(api, call, answer, .chunks(form), stopsRun: stops).open(fields, on: loop)
        }
    }

    /// Whether the run ends soon after its client has left.
    static func stops(_ api: HTTPAPI, _ call: Call, usually: Bool) -> Bool {
        let wanted = call.head.fields.string(for: "x-ladle-on-disconnect").flatMap(
            OpenAISettings.Disconnect.init(rawValue:)
        )
        switch wanted ?? api.settings.openAI.disconnect {
        case .auto: return usually
        case .stop: return true
        case .continue: return false
        }
    }

    static func fields(of answer: DoorAnswer, _ request: OpenAIRequest) -> [(String, String)] {
        var fields = [("Ladle-Session", answer.session), ("Ladle-Run", answer.runID)]
        if !request.ignored.isEmpty { fields.append(("Ladle-Ignored", request.ignored.joined(separator: ", "))) }
        return fields
    }

    /// Answers a request that is not for the agent.
    private static func answer(
        _ side: SideCall,
        _ request: OpenAIRequest,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) throws(OpenAIError) {
        let (text, reason) = try words(of: side)
        let chat = ChatAnswer(
            id: "chatcmpl-none-\(call.exchange.requestID)",
            created: loop.wallClock.milliseconds / 1000,
            model: request.model
        )
        guard request.streams else {
            let response = Response(
                .ok,
                contentType: "application/json",
                body: chat.whole(text, reason: reason) + [0x0A]
            )
            return call.respond(response.adding("Ladle-Run", "none"), on: loop)
        }
        let body = chat.first + chat.text(text) + chat.last(reason) + ChatAnswer.done
        let response = Response(.ok, contentType: StreamFormat.eventStream.contentType, body: body)
        call.respond(response.adding("Ladle-Run", "none").adding(.cacheControl, "no-cache"), on: loop)
    }

    static func words(of side: SideCall) throws(OpenAIError) -> (text: String, reason: String) {
        switch side {
        case .probe: return (SideCall.probeText, "length")
        case .answer(let text): return (text, "stop")
        case .refused(let task):
            let name = Printable.escaped(task).text
            throw .invalid(
                "messages",
                "The task `\(name)` needs a model of its own; Ladle has agents, and does not trouble them with it.",
                code: "unsupported_task"
            )
        }
    }
}

extension Response {
    func adding(_ name: String, _ value: String) -> Response {
        var copy = self
        copy.head.fields.append(name, value)
        return copy
    }
}
