import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Observability
import Server
import Service
import TLS

/// `POST /v1/nodes/{id}/invoke`: runs a command on a node, once per Idempotency-Key.
enum NodeInvokeOperation {
    static let types: [MediaType] = [.json, .jpeg, .png, .webp, .mp4, .webm]
    /// Room for the largest params and the fields around them, so that params over the limit still get an answer of
    /// their own.
    static let body = Route.Body.upTo(256 << 10, types: [.json])
    private static let longestParams = 64 << 10
    private static let longestCommand = 64

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let asked: NodeCall
        do throws(Problem) {
            guard call.caller.sessions == nil else { throw .ofNoSession }
            asked = try request(of: call, api)
        } catch {
            if error.code == .commandNotAllowed { api.services.nodeInvoker.noteRefusal() }
            throw error
        }
        call.subject = "\(asked.node) \(asked.command)"
        let response = try await OnceOnly.perform(api, call, meaning: asked.node, isKeyRequired: true, on: loop) {
            do throws(Problem) {
                let isCapture = NodePolicy.kind(of: asked.command) == .capture
                try api.access.admitNodeCall(call.exchange, by: call.caller, isCapture: isCapture, on: loop)
            } catch {
                return .failed(error, isKept: false)
            }
            do throws(NodeFault) {
                return done(try await api.services.nodeInvoker.invoke(asked, on: loop), asked, call)
            } catch {
                return outcome(error, asked, call, api, on: loop)
            }
        }
        call.respond(response, on: loop)
    }

    // MARK: The request

    private static func request(of call: Call, _ api: HTTPAPI) throws(Problem) -> NodeCall {
        let body = try call.jsonObject(of: ["command", "params", "timeoutMs"])
        guard let command = body["command"]?.string, !command.isEmpty else {
            throw .invalidField("command", "`command` is the name of a command, such as system.notify.")
        }
        try check(command, api.services.nodeInvoker.policy)
        try checkForm(of: call, command)
        var members = try params(body["params"])
        if command == "canvas.present" || command == "canvas.navigate" {
            members = try CanvasParams.checked(body["params"], gateway: api.services.gateway.status.url)
        }
        var waitMs: Int64 = 20_000
        if let value = body["timeoutMs"], !value.isNull {
            guard let wanted = value.int, (1_000...120_000).contains(wanted) else {
                throw .invalidField("timeoutMs", "`timeoutMs` is a whole number from 1000 to 120000.")
            }
            waitMs = wanted
        }
        let id = call.pathID
        let key = try MessageRequest.key(of: call)?.value ?? ""
        let name = Digest.sha256(Array("\(call.caller.identity)\n\(id)\n\(key)".utf8)).prefix(16)
        return NodeCall(
            node: id,
            command: command,
            members: members,
            waitMs: waitMs,
            key: "ladle-\(Hex.encode(Array(name)))"
        )
    }

    private static func check(_ command: String, _ policy: NodePolicy) throws(Problem) {
        guard !policy.permits(command) else { return }
        let shown = Printable.escaped(command, limit: longestCommand).text
        let detail: String
        var hint: String?
        switch NodePolicy.kind(of: command) {
        case .privateRead, .capture:
            detail = "\(shown) tells or records private things, and is done only if it is named in nodes.allow."
            hint = "ladle serve --nodes-allow \(command)"
        case .never: detail = "\(shown) is never passed on, whatever the settings."
        default:
            detail = "\(shown) is no command that Ladle passes on."
            hint = NearestName.of(shown, in: policy.permitted.sorted()).map { "did you mean `\($0)`?" }
        }
        throw .commandNotAllowed(detail, by: "ladle", hint: hint)
    }

    /// Only commands that use a camera or capture a screen can answer in bytes.
    private static func checkForm(of call: Call, _ command: String) throws(Problem) {
        guard call.answerType != .json else { return }
        guard NodeMedia.family(of: command) == call.answerType.type else { throw .notAcceptable([.json]) }
    }

    private static func params(_ value: JSONValue?) throws(Problem) -> [UInt8]? {
        guard let value, !value.isNull else { return nil }
        guard value.kind == .object else {
            throw .invalidField("params", "`params` is an object with what the command takes.")
        }
        guard value.raw.count <= longestParams else {
            let detail = "`params` takes \(value.raw.count) bytes; there may be \(longestParams)."
            throw Problem(.bodyTooLarge, detail, field: "params")
        }
        var writer = JSONWriter()
        writer.copy(value)
        return writer.bytes
    }

    // MARK: The answer

    private static func outcome(
        _ fault: NodeFault,
        _ asked: NodeCall,
        _ call: Call,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) -> OnceOnly.Outcome {
        guard case .answered(.queued(let action), let words) = fault else {
            let wait = call.untilNextTry(api, on: loop)
            return .failed(Problem(fault, asked, retryAfterMs: wait), isKept: !fault.isUnsent)
        }
        let response = Response.object(.accepted) { object in
            object.member("node", asked.node)
            object.member("command", asked.command)
            object.member("queued", true)
            object.member("queuedActionId", action)
            object.member("retryable", false)
            object.member("gatewayCode", words.gatewayCode)
            object.member("nodeCode", words.nodeCode)
        }
        return .done(response.adding(.cacheControl, "no-store"))
    }

    private static func done(_ answer: NodeAnswer, _ asked: NodeCall, _ call: Call) -> OnceOnly.Outcome {
        let response: Response
        if call.answerType == .json {
            response = Response.json { write(answer, asked, to: &$0) }
        } else {
            do throws(NodeMedia.Fault) {
                let media = try NodeMedia(answer.result, of: asked.command)
                response = Response(.ok, contentType: media.type.essence, body: media.bytes)
            } catch {
                let detail = "The answer of the node holds no \(call.answerType.type): \(error.detail)."
                let hint = "what was done is done; a new Idempotency-Key does it again"
                return .failed(Problem(.nodeFailed, detail, hint: hint, retryable: false), isKept: true)
            }
        }
        return .done(response.adding(.cacheControl, "no-store"), repeats: repeats(of: asked, response))
    }

    private static func write(_ answer: NodeAnswer, _ asked: NodeCall, to writer: inout JSONWriter) {
        writer.object { object in
            object.member("node", asked.node)
            object.member("command", asked.command)
            object.key("result")
            switch answer.result {
            case .empty: object.null()
            case .value(let value): object.copy(value)
            case .text(let text):
                object.string(text)
                object.member("raw", true)
            }
            object.member("durationMs", answer.durationMs)
        }
    }

    /// The answer to repeats. Private data such as places and pictures is not stored, nor are long answers: a repeat of
    /// those learns only that the command was done.
    private static func repeats(of asked: NodeCall, _ response: Response) -> Problem? {
        if NodePolicy.kind(of: asked.command) == .harmless, response.body.count <= longestParams { return nil }
        let detail = "\(asked.command) was done by the first request with this key; its result is not kept."
        return Problem(.resultNotKept, detail, hint: "a new Idempotency-Key does it again")
    }
}

extension Problem {
    fileprivate static func commandNotAllowed(_ detail: String, by whom: String, hint: String? = nil) -> Problem {
        Problem(.commandNotAllowed, detail, hint: hint, field: "command").adding(member: "by") { $0.string(whom) }
    }

    fileprivate init(_ fault: NodeFault, _ asked: NodeCall, retryAfterMs: Int64?) {
        switch fault {
        case .notFound: self = .noNode
        case .busy: self.init(.nodeBusy, "The node does another command, and does one at a time.")
        case .refused(let reason): self = .notAllowed(reason, asked.command)
        case .gateway(let fault):
            let hint = "GET /v1/nodes/\(PercentCoding.encode(asked.node)) shows how the node stands"
            self.init(
                fault,
                changing: "pass \(asked.command) on",
                isRepeatable: false,
                hint: hint,
                retryAfterMs: retryAfterMs
            )
        case .answered(let answer, let words):
            self = Problem(answer, words.text, asked)
            self = adding(member: "gatewayCode") { $0.string(words.gatewayCode) }
            if let nodeCode = words.nodeCode { self = adding(member: "nodeCode") { $0.string(nodeCode) } }
        }
    }

    private static func notAllowed(_ reason: Node.Reason, _ command: String) -> Problem {
        switch reason {
        case .notDeclared:
            .commandNotAllowed(
                "The gateway lists no \(command) of this node: it does not declare it, or the gateway leaves it out.",
                by: "node"
            )
        case .gatewayPolicy:
            .commandNotAllowed(
                "The gateway does not let \(command) through, or its operator has yet to approve the node.",
                by: "gateway",
                hint: "on the gateway's host: openclaw nodes pending; the setting is gateway.nodes"
            )
        case .ladlePolicy: .commandNotAllowed("Ladle does not pass \(command) on.", by: "ladle")
        }
    }

    /// A later try needs a new key, because this answer is kept under the old one.
    private static let anew = "try again later, with a new Idempotency-Key"

    private init(_ answer: NodeFault.Answer, _ words: String, _ asked: NodeCall) {
        switch answer {
        case .refused(let reason): self = .notAllowed(reason, asked.command)
        case .offline: self.init(.nodeOffline, "The node is not connected, and could not be woken.", hint: Self.anew)
        case .background, .queued:
            self.init(.nodeInBackground, "The app of the node is not in front: \(words)", hint: Self.anew)
        case .permission(let name):
            let detail = "The person at the node has not allowed it: \(words)"
            self.init(.nodePermission, detail, hint: "switch it on at the device itself")
            if let name { self = adding(member: "permission") { $0.string(name) } }
        case .timeout:
            let detail = "The node did not answer in time; whether it did \(asked.command) is not known."
            self.init(.nodeTimeout, detail)
        case .failed: self.init(.nodeFailed, "The node did not do it: \(words)")
        }
    }
}

extension NodeFault {
    /// Whether nothing was done, so that the same request may be sent again.
    fileprivate var isUnsent: Bool {
        switch self {
        case .gateway(let fault): !fault.mayHaveActed
        case .busy, .refused, .notFound: true
        case .answered: false
        }
    }
}
