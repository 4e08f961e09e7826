import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import OpenAI
import Server
import Service

/// `/openai/v1/responses`: answers that are kept, so that a client can come back for them.
enum ResponseOperations {
    static let routes = [
        Route(
            "openaiCreateResponse",
            .post,
            "/openai/v1/responses",
            scope: .send,
            body: OpenAIOperations.body,
            produces: [.json, .eventStream],
            handler: OpenAIOperations.flow(create)
        ),
        Route(
            "openaiGetResponse",
            .get,
            "/openai/v1/responses/{id}",
            scope: .send,
            produces: [.json, .eventStream],
            query: ["stream", "starting_after"],
            handler: OpenAIOperations.flow(get)
        ),
        Route(
            "openaiDeleteResponse",
            .delete,
            "/openai/v1/responses/{id}",
            scope: .send,
            handler: OpenAIOperations.flow(delete)
        ),
        Route(
            "openaiCancelResponse",
            .post,
            "/openai/v1/responses/{id}/cancel",
            scope: .send,
            body: .unused,
            handler: OpenAIOperations.flow(cancel)
        ),
        Route(
            "openaiListInputItems",
            .get,
            "/openai/v1/responses/{id}/input_items",
            scope: .send,
            handler: OpenAIOperations.flow(listInput)
        ),
    ]

    // MARK: Making

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        var intake = try await DoorIntake.read(.responses, api, call)
        let outcome = try await intake.take(on: loop)
        let request = intake.request
        switch outcome {
        case .side(let side): try answer(side, request, call, on: loop)
        case .answer(let answer, _):
            let fields = OpenAIOperations.fields(of: answer, request) + intake.fields
            if request.streams {
                let stops = !request.isBackground && OpenAIOperations.stops(api, call, usually: true)
                return try DoorStream(api, call, answer, .response(ResponseStream()), stopsRun: stops).open(
                    fields,
                    on: loop
                )
            }
            if request.isBackground {
                try respond(answer, call, fields, on: loop)
                // The client has the id, which is what it asked for.
                return answer.delivered(on: loop)
            }
            let stops = OpenAIOperations.stops(api, call, usually: false)
            DoorWait(api, call, answer, fields, stopsRun: stops) { bytes(of: $0) ?? [] }.start(on: loop)
        }
    }

    private static func answer(
        _ side: SideCall,
        _ request: OpenAIRequest,
        _ call: Call,
        on loop: isolated EventLoop
    ) throws(OpenAIError) {
        let text = try OpenAIOperations.words(of: side).text
        let record = ResponseRecord(
            entry: "none-\(call.exchange.requestID)",
            owner: "",
            model: request.model,
            session: "none",
            input: request.text,
            created: loop.wallClock
        )
        var course = AnswerCourse()
        course.take(whole: text)
        course.finish(.completed(nil))
        let object = ResponseObject(record, course, status: .completed, run: "none", completedAt: loop.wallClock)
        guard request.streams else {
            let response = Response.json { object.write(to: &$0) }
            return call.respond(response.adding("Ladle-Run", "none"), on: loop)
        }
        var (stream, body) = (ResponseStream(), [UInt8]())
        while let event = stream.next(of: object) { body += event.bytes }
        let response = Response(.ok, contentType: StreamFormat.eventStream.contentType, body: body)
        call.respond(response.adding("Ladle-Run", "none"), on: loop)
    }

    // MARK: Reading

    private static func find(_ api: HTTPAPI, _ call: Call, on loop: isolated EventLoop) async throws(OpenAIError)
        -> DoorAnswer
    {
        guard let answer = try await api.openAI.response(call.pathID, owner: call.caller.identity, on: loop) else {
            throw unknown(call.pathID)
        }
        return answer
    }

    private static func unknown(_ id: String) -> OpenAIError {
        let shown = Printable.escaped(id.shortened).text
        return .notFound(
            "There is no response `\(shown)`. Responses are kept for a week, for the key that made them.",
            code: "response_not_found",
            param: "response_id"
        )
    }

    private static func bytes(of answer: DoorAnswer) -> [UInt8]? {
        answer.object.map { object in
            var writer = JSONWriter(capacity: answer.size)
            object.write(to: &writer)
            return writer.bytes
        }
    }

    private static func respond(
        _ answer: DoorAnswer,
        _ call: Call,
        _ fields: [(String, String)] = [],
        on loop: isolated EventLoop
    ) throws(OpenAIError) {
        guard let body = bytes(of: answer) else { throw unknown(call.pathID) }
        var response = Response(.ok, contentType: "application/json", body: body + [0x0A])
        for (name, value) in fields { response.head.fields.append(name, value) }
        call.respond(response, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let (streams, after) = try place(call)
        let answer = try await find(api, call, on: loop)
        guard streams else { return try respond(answer, call, on: loop) }
        let stream = ResponseStream(after: after)
        let fields = [("Ladle-Session", answer.session), ("Ladle-Run", answer.runID)]
        try DoorStream(api, call, answer, .response(stream), stopsRun: false).open(fields, on: loop)
    }

    private static func place(_ call: Call) throws(OpenAIError) -> (streams: Bool, after: Int) {
        do throws(Problem) {
            let streams = try call.flag("stream")
            return (streams, try call.number("starting_after", in: 0...Int(Int32.max), default: -1))
        } catch {
            throw OpenAIError(error)
        }
    }

    static func listInput(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let answer = try await find(api, call, on: loop)
        guard let record = answer.record else { throw unknown(call.pathID) }
        let id = "msg_\(record.entry)_input"
        call.respond(
            .object { object in
                object.member("object", "list")
                object.array("data") { list in
                    list.object { item in
                        item.member("id", id)
                        item.member("type", "message")
                        item.member("role", "user")
                        item.member("status", "completed")
                        item.array("content") { parts in
                            parts.object { part in
                                part.member("type", "input_text")
                                part.member("text", record.input)
                            }
                        }
                    }
                }
                object.member("first_id", id)
                object.member("last_id", id)
                object.member("has_more", false)
            },
            on: loop
        )
    }

    // MARK: Ending

    /// Stops a response, or a chat completion by its id. A second request finds it stopped.
    static func cancel(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let chat = "chatcmpl-"
        let owner = call.caller.identity
        if call.pathID.hasPrefix(chat) {
            let id = String(call.pathID.dropFirst(chat.count))
            guard let answer = try await api.openAI.answer(of: id, owner: owner, on: loop) else {
                throw unknown(call.pathID)
            }
            answer.stop(on: loop)
            await settled(answer, on: loop)
            let state = answer.isActive ? "in_progress" : "ended"
            return call.respond(
                .object { object in
                    object.member("id", call.pathID)
                    object.member("object", "chat.completion")
                    object.member("status", state)
                },
                on: loop
            )
        }
        let answer = try await find(api, call, on: loop)
        answer.stop(on: loop)
        await settled(answer, on: loop)
        try respond(answer, call, on: loop)
    }

    private static let patienceMilliseconds: Int64 = 5_000

    /// Waits for the end of a response that is being stopped, as long as a client expects.
    private static func settled(_ answer: DoorAnswer, on loop: isolated EventLoop) async {
        guard !answer.course.isOver else { return }
        await loop.wait { (end: @escaping () -> Void) in
            let watch = DoorEnd(end)
            watch.timer = loop.after(milliseconds: patienceMilliseconds) { watch.give(answer, on: loop) }
            answer.add(watch, on: loop)
        }
    }

    static func delete(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(OpenAIError) {
        let answer = try await find(api, call, on: loop)
        try await api.openAI.remove(answer, on: loop)
        call.respond(
            .object { object in
                object.member("id", call.pathID)
                object.member("object", "response")
                object.member("deleted", true)
            },
            on: loop
        )
    }
}

/// Waits for the end of an answer, for a limited time.
final class DoorEnd: DoorListener {
    private var end: (() -> Void)?
    var timer: TimerID?

    init(_ end: @escaping () -> Void) { self.end = end }

    func changed(_ answer: DoorAnswer, on loop: isolated EventLoop) {
        if answer.course.isOver { give(answer, on: loop) }
    }

    func give(_ answer: DoorAnswer, on loop: isolated EventLoop) {
        guard let end else { return }
        self.end = nil
        if let timer { loop.cancel(timer) }
        answer.remove(self, stops: false, on: loop)
        end()
    }
}
