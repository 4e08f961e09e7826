import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// A request that acts on the gateway at once, and only once per Idempotency-Key: a repeat gets the first answer.
enum OnceOnly {
    enum Outcome {
        /// - Parameter repeats: the answer to repeats, if the response must not be stored.
        case done(Response, repeats: Problem? = nil)
        /// - Parameter isKept: the gateway may have acted; otherwise the key can be used again.
        case failed(Problem, isKept: Bool)

        fileprivate func get() throws(Problem) -> Response {
            switch self {
            case .done(let response, _): return response
            case .failed(let problem, _): throw problem
            }
        }
    }

    /// - Parameters:
    ///   - meaning: the request's identity beside its body; the same key with another meaning is an error.
    ///   - work: carries the request out. It is not called for a repeat.
    static func perform(
        _ api: HTTPAPI,
        _ call: Call,
        meaning: String,
        isKeyRequired: Bool,
        on loop: isolated EventLoop,
        work: () async -> Outcome
    ) async throws(Problem) -> Response {
        guard !api.isShuttingDown else { throw .shuttingDown }
        guard let key = try MessageRequest.key(of: call) else {
            guard !isKeyRequired else {
                let detail = "Done twice, this would do more than once; so each request has an Idempotency-Key."
                throw Problem(.idempotencyKeyRequired, detail, field: "Idempotency-Key")
            }
            return try await work().get()
        }
        let claim = ControlReceipts.Claim(
            scope: "\(call.caller.identity) \(call.route.operation)",
            key: key.value,
            meaning: Array("\(meaning)\n".utf8) + call.exchange.body
        )
        let receipts = api.services.receipts
        switch await loop.wait(for: { receipts.begin(claim, on: loop, completion: $0) }) {
        case .failure(let error): throw .storage(error)
        case .success(.first):
            let outcome = await work()
            let kept = kept(outcome)
            await loop.wait { receipts.finish(claim, kept, on: loop, completion: $0) }
            return try outcome.get()
        case .success(let finding): return try repeated(finding)
        }
    }

    private static func repeated(_ finding: ControlReceipts.Finding) throws(Problem) -> Response {
        switch finding {
        case .repeated(let bytes): return try replayed(bytes)
        case .lost:
            let detail =
                "Ladle ended while the first request with this key was under way; whether it was done is not known."
            throw Problem(.gatewayTimeout, detail, retryable: false)
        case .reused:
            let detail = "This Idempotency-Key came with another request in the last 24 hours."
            throw Problem(.idempotencyKeyReused, detail, field: "Idempotency-Key")
        case .notSent, .first:
            let detail = "The first request with this key failed before anything was sent."
            throw Problem(.gatewayUnavailable, detail, retryAfterMs: 1000)
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

    private static func replayed(_ bytes: [UInt8]) throws(Problem) -> Response {
        guard let kept = try? JSONDocument(parsing: bytes).root, let code = kept["status"]?.int,
            (200...599).contains(code)
        else { return try repeated(.lost) }
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
            throw problem.adding(.idempotencyReplayed, "true")
        }
        guard let body = kept["body"] else { return try repeated(.lost) }
        let response = Response.json(status) { $0.raw(body.raw) }.adding(.idempotencyReplayed, "true")
        return kept["location"]?.string.map { response.adding(.location, $0) } ?? response
    }
}
