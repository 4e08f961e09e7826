import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import OpenAI
import Server
import Service
import TLS

/// `/ollama/api`: the part of Ollama's API that chat programs use, over the same answers as OpenAI's. Models are agents; the body of every
/// error is Ollama's.
enum OllamaOperations {
    static let routes = [
        Route("ollamaVersion", .get, "/ollama/api/version", scope: .send, handler: flow(version)),
        Route("ollamaListModels", .get, "/ollama/api/tags", scope: .send, handler: flow(listModels)),
        Route("ollamaShowModel", .post, "/ollama/api/show", scope: .send, body: Route.json, handler: flow(show)),
        Route("ollamaPull", .post, "/ollama/api/pull", scope: .send, body: Route.json, handler: flow(pull)),
        Route(
            "ollamaChat",
            .post,
            "/ollama/api/chat",
            scope: .send,
            body: OpenAIOperations.body,
            produces: [.json, .ndjson],
            handler: flow(chat)
        ),
    ]

    private static func flow(_ flow: @escaping OpenAIOperations.Flow) -> Route.Handler {
        OpenAIOperations.flow(flow, face: .ollama)
    }

    // MARK: Models

    private static func version(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        call.respond(.object { $0.member("version", api.settings.version) }, on: loop)
    }

    private static func listModels(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let names = await OpenAIOperations.names(api, call, on: loop)
        let created = Timestamp(milliseconds: OpenAIOperations.created * 1000)
        call.respondTagged(
            .object { object in
                object.array("models") { list in
                    for name in names {
                        let digest = Hex.encode(Digest.sha256(Array(name.utf8)))
                        OllamaAnswer.write(name, digest: digest, created: created, to: &list)
                    }
                }
            },
            on: loop
        )
    }

    private static func show(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let body: JSONValue
        do throws(Problem) {
            body = try Call.parse(call.exchange.body).get().root
        } catch {
            throw OpenAIError(error)
        }
        guard let wanted = body["model"]?.string ?? body["name"]?.string else {
            throw .invalid("model", "`model` is missing: GET /ollama/api/tags lists them.")
        }
        let names = await OpenAIOperations.names(api, call, on: loop)
        guard names.contains(wanted) || names.contains(where: { "\($0):latest" == wanted }) else {
            let shown = Printable.escaped(wanted.shortened).text
            throw .notFound("model '\(shown)' not found; there are \(names.joined(separator: ", "))")
        }
        call.respond(.object { OllamaAnswer.writeModel(to: &$0) }, on: loop)
    }

    private static func pull(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        throw .invalid("model", "The models are the gateway's agents: there is nothing to pull.")
    }

    // MARK: Chat

    private static func chat(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        var intake = try await DoorIntake.read(.ollama, api, call)
        let outcome = try await intake.take(on: loop)
        let request = intake.request
        switch outcome {
        case .side(let side):
            let (text, reason) = try OpenAIOperations.words(of: side)
            let form = OllamaAnswer(model: request.model, created: loop.wallClock)
            let isCut = reason == "length"
            let body =
                request.streams
                ? form.text(text) + form.end(nil, isCut: isCut, milliseconds: 0)
                : form.whole(text, isCut: isCut, milliseconds: 0)
            let type = request.streams ? OllamaAnswer.mediaType : "application/json"
            call.respond(Response(.ok, contentType: type, body: body).adding("Ladle-Run", "none"), on: loop)
        case .answer(let answer, _):
            let fields = OpenAIOperations.fields(of: answer, request) + intake.fields
            let form = OllamaAnswer(model: request.model, created: answer.created)
            guard request.streams else {
                let stops = OpenAIOperations.stops(api, call, usually: false)
                let wait = DoorWait(api, call, answer, fields, face: .ollama, stopsRun: stops) { answer in
                    form.whole(
                        answer.course.text,
                        notes: answer.notes,
                        answer.usage,
                        isCut: answer.isTruncated,
                        milliseconds: answer.milliseconds
                    )
                }
                return wait.start(on: loop)
            }
            let stops = OpenAIOperations.stops(api, call, usually: true)
            try DoorStream(api, call, answer, .chunks(form), stopsRun: stops).open(fields, on: loop)
        }
    }
}
