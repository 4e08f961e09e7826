import Access
import EventLoops
import HTTPModel
import OpenAI
import Server
import Service

/// A request that waits for the whole answer. The run goes on if its client leaves: most have timed out, and ask again.
final class DoorWait: OpenRequest, ExchangeOwner, DoorListener {
    private let api: HTTPAPI
    private let call: Call
    private let answer: DoorAnswer
    private let fields: [(String, String)]
    private let face: DoorFace
    private let stopsRun: Bool
    private let body: (DoorAnswer) -> [UInt8]
    private var isOver = false

    /// - Parameter body: the answer's form, once it is over.
    init(
        _ api: HTTPAPI,
        _ call: Call,
        _ answer: DoorAnswer,
        _ fields: [(String, String)],
        face: DoorFace = .openAI,
        stopsRun: Bool,
        body: @escaping (DoorAnswer) -> [UInt8]
    ) {
        self.api = api
        self.call = call
        self.answer = answer
        self.fields = fields
        self.face = face
        self.stopsRun = stopsRun
        self.body = body
    }

    var tokenID: String? { call.caller.tokenID }

    func start(on loop: isolated EventLoop) {
        // The message is in the outbox, however long the answer takes.
        call.settle(.ok, on: loop)
        api.open.add(self)
        answer.add(self, on: loop)
        call.exchange.owner = self
        changed(answer, on: loop)
        if !isOver { call.exchange.endWithPeer(on: loop) }
    }

    func changed(_ answer: DoorAnswer, on loop: isolated EventLoop) {
        guard !isOver, answer.course.isOver else { return }
        switch answer.course.end {
        case .failed(let error), .cancelled(let error):
            answer.delivered(on: loop)
            finish(error, on: loop)
        case nil: break
        case .completed:
            stop(stops: false, on: loop)
            answer.delivered(on: loop)
            var response = Response(.ok, contentType: "application/json", body: body(answer) + [0x0A])
            for (name, value) in fields { response.head.fields.append(name, value) }
            response.head.fields.append("x-request-id", call.exchange.requestID)
            call.respond(response, on: loop)
        }
    }

    private func finish(_ error: OpenAIError, on loop: isolated EventLoop) {
        guard !isOver else { return }
        stop(stops: false, on: loop)
        var response = face.response(error, requestID: call.exchange.requestID)
        for (name, value) in fields { response.head.fields.append(name, value) }
        call.respond(response, on: loop)
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(stops: stopsRun, on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    func shutDown(reason: String, on loop: isolated EventLoop) {
        let isEnding = reason == "shutting_down"
        finish(
            isEnding
                ? OpenAIError(.shuttingDown)
                : OpenAIError(401, .authentication, "invalid_api_key", "The key has ended (\(reason))."),
            on: loop
        )
    }

    private func stop(stops: Bool, on loop: isolated EventLoop) {
        isOver = true
        answer.remove(self, stops: stops, on: loop)
        api.open.remove(self)
    }
}
