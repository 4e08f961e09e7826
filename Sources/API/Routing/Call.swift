package import Access
import Basics
package import EventLoops
package import HTTPModel
import JSONBytes
import Observability
package import Server
import Service

extension Route {
    /// Answers a request, at once or later. A problem that it throws is the answer.
    package typealias Handler = @Sendable (HTTPAPI, Call, isolated EventLoop) throws(Problem) -> Void
    /// A handler that waits between its steps. It goes on if its caller has gone meanwhile.
    package typealias Flow = @Sendable (HTTPAPI, Call, isolated EventLoop) async throws(Problem) -> Void
}

/// One request while its handler works on it: the caller, the route and the format of the answer.
package final class Call {
    package let exchange: Exchange
    package let request: Request
    var hasBegun = false
    /// Counts towards the open pages of its connection.
    var isOpenPage = false
    /// Whether the metrics have counted this request.
    var isCounted = false
    /// The id of the changed resource, for the audit file.
    var subject: String?
    /// The acting person, for the audit file, if the request itself shows nobody.
    var actor: String?
    /// The body is secret: the audit file gets not even its hash.
    var isBodySecret = false
    /// The decision about an approval, for the audit file.
    var decision: AuditRecord.Decision?
    /// The revision of the tokens when the request was let in.
    var tokenRevision: UInt64 = 0
    /// The revision of the services' state when the answer was first looked for; nil where answers are not kept.
    var askedRevision: UInt64?
    /// The audit file, for a request that changes something; nil once its line is written.
    var audit: AuditLog?

    init(_ exchange: Exchange, _ request: Request) {
        self.exchange = exchange
        self.request = request
    }

    package var head: RequestHead { exchange.head }
    package var route: Route { request.route }
    package var parameters: [String] { request.parameters }
    package var query: QueryItems { request.query }
    package var caller: Caller { request.caller }
    package var answerType: MediaType { request.answerType }
    var wantsText: Bool { request.wantsText }
    /// The id, name or key in the path; empty if the route has none.
    var pathID: String { parameters.first ?? "" }

    package func respond(_ response: Response, on loop: isolated EventLoop) {
        settle(response.head.status, on: loop)
        exchange.respond(varying(response), on: loop)
    }

    /// One address has several formats: a cache must know which header chose this one.
    private func varying(_ response: Response) -> Response {
        route.produces.count > 1 ? response.adding(.vary, "Accept") : response
    }

    package func fail(_ problem: Problem, on loop: isolated EventLoop) {
        settle(problem.status, problem.code, on: loop)
        exchange.respond(problem, on: loop)
    }

    /// Runs a part of the handler; a problem that it throws is the answer. Completions need this because they run after
    /// the handler has returned.
    func attempt(on loop: isolated EventLoop, _ work: () throws(Problem) -> Void) {
        do throws(Problem) {
            try work()
        } catch {
            fail(error, on: loop)
        }
    }

    /// Milliseconds until the link tries to connect again; nil if unknown.
    func untilNextTry(_ api: HTTPAPI, on loop: isolated EventLoop) -> Int64? {
        api.services.gateway.status.retryAt.map { max($0.milliseconds - loop.wallClock.milliseconds, 1000) }
    }

    /// Answers with a validator: 304 if the client already has this version (RFC 9110 §13.1.2).
    package func respond(_ response: Response, tag: EntityTag, on loop: isolated EventLoop) {
        if let condition = head.fields.list(for: .ifNoneMatch),
            let tags = try? EntityTagCondition(parsing: condition[...], field: .ifNoneMatch), tags.matchesWeakly(tag)
        {
            return respond(response.unmodified.adding(.etag, tag.text), on: loop)
        }
        respond(response.adding(.etag, tag.text), on: loop)
    }

    /// Answers with a validator made from the bytes.
    func respondTagged(_ response: Response, on loop: isolated EventLoop) {
        respond(response, tag: EntityTag(ofBytes: response.body), on: loop)
    }

    func ifMatch() throws(Problem) -> EntityTagCondition? {
        guard let field = head.fields.list(for: .ifMatch) else { return nil }
        do throws(HeaderValueError) {
            return try EntityTagCondition(parsing: field[...], field: .ifMatch)
        } catch {
            throw .badHeader("If-Match", error)
        }
    }

    /// The version for which a change is meant, where each change must name one.
    func requiredIfMatch() throws(Problem) -> EntityTagCondition {
        guard let condition = try ifMatch() else {
            let detail = "A write says which version it is meant for."
            throw Problem(.preconditionRequired, detail, field: "If-Match")
        }
        return condition
    }

    /// Writes the audit line: once, as soon as the change is made or refused, even if the client is gone.
    func settle(_ status: HTTPStatus, _ code: ProblemCode? = nil, on loop: isolated EventLoop) {
        guard let audit else { return }
        self.audit = nil
        let now = loop.wallClock
        let code = code?.rawValue ?? "\(status.code)"
        let outcome: AuditRecord.Outcome =
            status.code < 400 ? .done : status.code < 500 ? .refused(code) : .failed(code)
        guard let suppressed = audit.admits(outcome, by: caller, on: loop) else { return }
        let body = isBodySecret ? [] : exchange.body
        let (who, from, requestID) = (actor ?? caller.label, exchange.connection.remote, exchange.requestID)
        let which = subject ?? parameters.first ?? query["agent"]
        let what = route.operation
        let decision = decision
        audit.trail.record {
            AuditRecord(
                at: now,
                who: who,
                from: "\(from)",
                what: what,
                which: which.map(TokenText.masked),
                outcome: outcome,
                requestID: requestID,
                text: body.isEmpty ? nil : AuditRecord.TextMark(body),
                decision: decision,
                suppressed: suppressed
            )
        }
    }

    // MARK: Query parameters

    package func text(_ name: String) -> String? { query[name] }

    package func number(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws(Problem) -> Int {
        guard let text = query[name] else { return fallback }
        guard let value = Int(text), range.contains(value) else {
            throw .badParameter(name, "`\(name)` is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    package func flag(_ name: String, default fallback: Bool = false) throws(Problem) -> Bool {
        switch query[name] {
        case nil: return fallback
        case "true", "1", "": return true
        case "false", "0": return false
        default: throw .badParameter(name, "`\(name)` is true or false.")
        }
    }

    /// The value of a parameter with a fixed set of names; nil if it is not given.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
    where Choice.RawValue == String {
        guard let text = text(name) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let near = NearestName.of(text, in: names).map { " Did you mean \($0)?" } ?? ""
        throw .badParameter(name, "`\(name)` is one of \(names.joined(separator: ", "))." + near)
    }

    // MARK: Body

    /// The body, an object with these fields. Other fields are ignored, because a client may be newer than this program,
    /// unless the route refuses them or they stand alone.
    func jsonObject(of fields: [String]) throws(Problem) -> JSONValue {
        try Self.object(Self.parse(exchange.body), of: fields, refusesOthers: route.refusesUnknownFields)
    }

    /// Reads the body of a request. Half of a surrogate pair is refused here, because no text could carry it unchanged.
    static func parse(_ body: [UInt8]) -> Result<JSONDocument, Problem> {
        do throws(JSONError) {
            let document = try JSONDocument(parsing: body)
            guard let place = document.placeOfHalfPair else { return .success(document) }
            let name = place.shortened
            let detail = "`\(name)` has half of a surrogate pair (\\uD800 to \\uDFFF), which is no text."
            return .failure(.invalidField(name, detail))
        } catch {
            let problem = Problem(.malformedJSON, "The body is not JSON: \(error).")
            return .failure(problem.adding(member: "offset") { $0.int(error.offset) })
        }
    }

    /// - Parameter refusesOthers: no other name may stand beside the fields.
    static func object(
        _ parsed: Result<JSONDocument, Problem>,
        of fields: [String],
        refusesOthers: Bool = false
    ) throws(Problem) -> JSONValue {
        let value = try parsed.get().root
        guard value.kind == .object else { throw .invalidField("body", "The body is a JSON object.") }
        // Names are not made texts one by one where no field is named: a large body may have millions.
        let isNamed = fields.contains { value[$0] != nil }
        guard !isNamed || refusesOthers else { return value }
        let other = value.members.first { !isNamed || !fields.contains(where: $0.key.isSameText(as:)) }
        guard let name = other?.key else { return value }
        let near = NearestName.of(name, in: fields).map { "did you mean `\($0)`? " } ?? ""
        let rest = isNamed ? "." : ", and none of those that there are is given."
        throw .invalidField(
            name.shortened,
            "There is no field `\(name.shortened)` here\(rest)",
            hint: "\(near)The fields are \(fields.joined(separator: ", "))."
        )
    }
}

extension EntityTag {
    /// A hash that tells versions of one resource apart, and serves no other purpose.
    init(ofBytes bytes: [UInt8]) { self.init(String(FNV1a.hash(bytes), radix: 16)) }
}
