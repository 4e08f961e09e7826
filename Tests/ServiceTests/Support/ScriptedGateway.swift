import Basics
import EventLoops
import Gateway
import JSONBytes
import Ledger
import Observability
import Service
import Upstream

/// A gateway that answers calls from a script and keeps the sent frames. Its answers come in a later turn of the loop,
/// as on a real connection.
final class ScriptedGateway: GatewayCalls {
    struct Request {
        let id: CallID
        let method: String
        let params: JSONValue

        subscript(_ name: String) -> String? { params[name]?.string }
    }

    /// The time of an answer.
    enum Reply {
        case now(CallOutcome)
        case after(milliseconds: Int64, CallOutcome)
        /// When `answer` is called.
        case later
    }

    private struct Open {
        let request: Request
        let completion: (CallOutcome) -> Void
    }

    var isOnline = false
    var status = LinkStatus(state: .offline, detail: "", since: Timestamp(milliseconds: 0), url: nil)
    var hello: Hello?
    var profile: GatewayProfile? { hello.map(GatewayProfile.init) }
    /// How far the gateway's clock is ahead of ours when the link opens.
    var clockSkewMs: Int64 = 0
    /// The gateway's time and ours on the monotonic clock, when the link opened.
    private var clock: (time: Timestamp, now: UInt64)?
    private(set) var isInputHeld = false
    var scopesToGain: [String]?
    /// Ids under which the gateway's owner was asked for more scopes, and the tokens that came of it.
    private(set) var scopeRequests: [String] = []
    private(set) var gainedTokens: [DeviceToken?] = []
    private(set) var requests: [Request] = []
    /// Parameters that the schema of the connected release does not allow.
    private(set) var misfits: [String] = []
    /// Answers in the order of the calls of a method; when they are used up, `standing` answers.
    private var script: [String: [CallOutcome]] = [:]
    /// Methods whose calls stay open until `answer` is called.
    var silent: Set<String> = []
    /// The rows that `chat.history` shows, by session.
    var rows: [String: [String]] = [:]
    /// More members of the page that `chat.history` answers.
    var historyMembers = ""
    /// The files of the agents, by name.
    var files: [String: String] = [:]
    var tellsHashes = false
    /// The frame log; nil if frames are not kept.
    var frames: [LoggedFrame]?
    /// Answers before the script; nil leaves the call to the script.
    var responder: ((Request) -> Reply?)?
    private var open: [Open] = []
    private var last: UInt64 = 0

    // MARK: Its clock

    func measureClock(on loop: isolated EventLoop) {
        clock = (loop.wallClock.adding(milliseconds: clockSkewMs), loop.now)
    }

    func clockSkewMs(on loop: isolated EventLoop) -> Int64 {
        guard let clock else { return clockSkewMs }
        let time = clock.time.milliseconds + Int64((loop.now - clock.now) / 1_000_000)
        return time - loop.wallClock.milliseconds
    }

    // MARK: For tests

    func requests(_ method: String) -> [Request] { requests.filter { $0.method == method } }

    /// The sent texts, in order.
    var sentTexts: [String] { requests("chat.send").compactMap { $0["message"] } }
    var sentKeys: [String] { requests("chat.send").compactMap { $0["idempotencyKey"] } }

    func next(_ method: String, _ outcomes: CallOutcome...) { script[method, default: []] += outcomes }

    /// Calls of this method that wait for their answer.
    func openCalls(_ method: String) -> Int { open.count { $0.request.method == method } }

    /// Answers the oldest open call of the method.
    func answer(_ method: String, _ outcome: CallOutcome? = nil) {
        guard let place = open.firstIndex(where: { $0.request.method == method }) else { return }
        let call = open.remove(at: place)
        call.completion(outcome ?? standing(call.request))
    }

    func answer(_ id: CallID, _ outcome: CallOutcome) {
        guard let place = open.firstIndex(where: { $0.request.id == id }) else { return }
        open.remove(at: place).completion(outcome)
    }

    /// Ends the connection: calls that were written and not answered may have arrived.
    func endOpenCalls(_ outcome: CallOutcome = .ambiguous(.linkLost)) {
        let calls = open
        open = []
        for call in calls { call.completion(outcome) }
    }

    func forgetOpenCalls() { open = [] }

    // MARK: GatewayCalls

    func frames(after number: Int64) -> ArraySlice<LoggedFrame>? { frames?.drop { $0.number <= number } }
    func writeMetrics(to page: inout MetricsPage, on loop: isolated EventLoop) {}

    @discardableResult
    func call(
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        on loop: isolated EventLoop,
        completion: @escaping (CallOutcome) -> Void
    ) -> CallID {
        last += 1
        let request = Request(id: CallID(last), method: method, params: json(String(decoding: params, as: UTF8.self)))
        guard isOnline else {
            deliver(.notDispatched(.offline), to: completion, on: loop)
            return request.id
        }
        requests.append(request)
        if let profile {
            let problems = SentParams.problems(method, request.params, profile)
            misfits += problems.map { "\(profile.name), \(method): \($0)" }
        }
        if let reply = responder?(request) {
            switch reply {
            case .now(let outcome): deliver(outcome, to: completion, on: loop)
            case .after(let milliseconds, let outcome):
                open.append(Open(request: request, completion: completion))
                loop.after(milliseconds: milliseconds) { [weak self] in self?.answer(request.id, outcome) }
            case .later: open.append(Open(request: request, completion: completion))
            }
            return request.id
        }
        if silent.contains(method) {
            open.append(Open(request: request, completion: completion))
            return request.id
        }
        if script[method]?.isEmpty == false, let outcome = script[method]?.removeFirst() {
            deliver(outcome, to: completion, on: loop)
        } else {
            deliver(standing(request), to: completion, on: loop)
        }
        return request.id
    }

    func hint(toGain scope: String) -> String { "grant \(scope)" }

    func awaitsScopes(request: String, on loop: isolated EventLoop) { scopeRequests.append(request) }
    func gainedScopes(_ token: DeviceToken?, on loop: isolated EventLoop) { gainedTokens.append(token) }

    func holdInput(_ isHeld: Bool, on loop: isolated EventLoop) { isInputHeld = isHeld }

    private func deliver(
        _ outcome: CallOutcome,
        to completion: @escaping (CallOutcome) -> Void,
        on loop: isolated EventLoop
    ) {
        loop.after(nanoseconds: 0) { completion(outcome) }
    }

    /// Stands for the sum of a file, and has its form.
    static func sum(_ content: String) -> String {
        let digits = String(content.utf8.count, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private func standing(_ request: Request) -> CallOutcome {
        switch request.method {
        case "chat.send": return ok(#"{"status":"started","runId":"\#(request["idempotencyKey"] ?? "")"}"#)
        case "chat.abort": return ok(#"{"aborted":true,"runIds":[]}"#)
        case "chat.history":
            let rows = rows[request["sessionKey"] ?? ""] ?? []
            return ok(#"{"messages":[\#(rows.joined(separator: ","))]\#(historyMembers)}"#)
        case "agents.files.get", "agents.files.set":
            let name = request["name"] ?? ""
            if let content = request["content"] { files[name] = content }
            guard let content = files[name] else { return ok(#"{"file":{"name":"\#(name)","missing":true}}"#) }
            let hash = tellsHashes ? #","hash":"\#(Self.sum(content))""# : ""
            return ok(#"{"file":{"name":"\#(name)","missing":false,"content":\#(quoted(content))\#(hash)}}"#)
        default: return ok("{}")
        }
    }
}

func ok(_ text: String) -> CallOutcome { .ok(json(text)) }

func refused(_ code: String, _ message: String = "no", more: String = "") -> CallOutcome {
    .failed(GatewayError(json(#"{"code":"\#(code)","message":"\#(message)"\#(more)}"#)), payload: nil)
}

func json(_ value: some JSONWritable) -> JSONValue {
    var writer = JSONWriter()
    value.write(to: &writer)
    return json(String(decoding: writer.bytes, as: UTF8.self))
}

func json(_ text: String) -> JSONValue {
    guard let value = try? JSONDocument(parsing: Array(text.utf8)).root else { preconditionFailure("no JSON: \(text)") }
    return value
}

func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.bytes, as: UTF8.self)
}
