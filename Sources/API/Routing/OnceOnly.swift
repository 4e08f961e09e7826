import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// A request that acts on the gateway at once, and only once per Idempotency-Key: a repeat gets the first answer.
final class OnceOnly {
    enum Outcome {
        /// - Parameter repeats: the answer to repeats, if the response must not be stored.
        case done(Response, repeats: Problem? = nil)
        /// - Parameter isKept: the gateway may have acted; otherwise the key can be used again.
        case failed(Problem, isKept: Bool)
    }

    typealias Finish = (Outcome) -> Void

    private let call: Call
    private let claim: ControlReceipts.Claim?
    private let receipts: ControlReceipts

    /// - Parameter meaning: the request's identity beside its body; the same key with another meaning is an error.
    private init(_ api: HTTPAPI, _ call: Call, meaning: String, isKeyRequired: Bool) throws(Problem) {
        self.call = call
        receipts = api.services.receipts
        let key = try MessageRequest.key(of: call)
        guard key != nil || !isKeyRequired else {
            let detail = "Done twice, this would do more than once; so each request has an Idempotency-Key."
            throw Problem(.idempotencyKeyRequired, detail, field: "Idempotency-Key")
        }
        claim = key.map { key in
            ControlReceipts.Claim(
                scope: "\(call.caller.identity) \(call.route.operation)",
                key: key.value,
                meaning: Array("\(meaning)\n".utf8) + call.exchange.body
            )
        }
    }

    /// - Parameter work: performs the request, and calls `finish` once. It is not called for a repeat.
    static func perform(
        _ api: HTTPAPI,
        _ call: Call,
        meaning: String,
        isKeyRequired: Bool,
        on loop: isolated EventLoop,
        work: @escaping (@escaping Finish) -> Void
    ) throws(Problem) {
        guard !api.isShuttingDown else { throw .shuttingDown }
        let once = try OnceOnly(api, call, meaning: meaning, isKeyRequired: isKeyRequired)
        once.start(on: loop, work)
    }

    private func start(on loop: isolated EventLoop, _ work: @escaping (@escaping Finish) -> Void) {
        guard let claim else { return work { self.answer($0, on: loop) } }
        receipts.begin(claim, on: loop) { [self] result in
            switch result {
            case .failure(let error): call.fail(.storage(error), on: loop)
            case .success(.first):
                work { outcome in
                    self.receipts.finish(claim, Self.kept(outcome), on: loop) { self.answer(outcome, on: loop) }
                }
            case .success(let finding): repeated(finding, on: loop)
            }
        }
    }

    private func repeated(_ finding: ControlReceipts.Finding, on loop: isolated EventLoop) {
        switch finding {
        case .repeated(let bytes): replay(bytes, on: loop)
        case .lost:
            let detail =
                "Ladle ended while the first request with this key was under way; whether it was done is not known."
            call.fail(Problem(.gatewayTimeout, detail, retryable: false), on: loop)
        case .reused:
            let detail = "This Idempotency-Key came with another request in the last 24 hours."
            call.fail(Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key"), on: loop)
        case .notSent, .first:
            let detail = "The first request with this key failed before anything was sent."
            call.fail(Problem(.gatewayUnavailable, detail, retryAfterMs: 1000), on: loop)
        }
    }

    private func answer(_ outcome: Outcome, on loop: isolated EventLoop) {
        switch outcome {
        case .done(let response, _): call.respond(response, on: loop)
        case .failed(let problem, _): call.fail(problem, on: loop)
        }
    }

    // MARK: On disk

    private static func kept(_ outcome: Outcome) -> [UInt8]? {
        var writer = JSONWriter()
        switch outcome {
        case .failed(_, isKept: false): return nil
        case .failed(let problem, _), .done(_, repeats: let problem?):
            writer.object { object in
                object.member("status", Int(problem.status.code))
                object.member("problem", problem.code.rawValue)
                object.member("detail", problem.detail)
                object.member("hint", problem.hint)
                object.member("retryable", problem.retryable)
                object.member("retryAfterMs", problem.retryAfterMs)
                object.member("field", problem.field)
                object.object("members") { members in
                    for member in problem.members { members.member(member.name, raw: member.json) }
                }
            }
        case .done(let response, repeats: nil):
            writer.object { object in
                object.member("status", Int(response.head.status.code))
                object.member("location", response.head.fields.string(for: .location))
                object.member("body", raw: response.body.last == 0x0A ? response.body.dropLast() : response.body[...])
            }
        }
        return writer.bytes
    }

    private func replay(_ bytes: [UInt8], on loop: isolated EventLoop) {
        guard let kept = try? JSONDocument(parsing: bytes).root, let code = kept["status"]?.int,
            (200...599).contains(code)
        else { return repeated(.lost, on: loop) }
        let status = HTTPStatus(Int(code))
        if let code = kept["problem"]?.string.flatMap({ ProblemCode(rawValue: $0) }) {
            var problem = Problem(
                code,
                kept["detail"]?.string ?? "",
                status: status,
                hint: kept["hint"]?.string,
                field: kept["field"]?.string,
                retryable: kept["retryable"]?.bool,
                retryAfterMs: kept["retryAfterMs"]?.int
            )
            for member in kept["members"]?.members.map({ $0 }) ?? [] {
                problem.members.append((member.key, Array(member.value.raw)))
            }
            return call.fail(problem.adding(.idempotencyReplayed, "true"), on: loop)
        }
        guard let body = kept["body"] else { return repeated(.lost, on: loop) }
        var response = Response.json(status) { $0.raw(body.raw) }.adding(.idempotencyReplayed, "true")
        if let location = kept["location"]?.string { response = response.adding(.location, location) }
        call.respond(response, on: loop)
    }
}
