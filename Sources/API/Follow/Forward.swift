import Access
import EventLoops
import Follow
import HTTPModel
import Outbound
import Server
import Service

/// A request that only the leader can answer, on its way there and back. The caller is known here already, and the leader checks its
/// credential again.
final class Forward: AnswerReceiver, ExchangeOwner {
    /// How long a request waits for a leader that is away for a moment, such as at its restart.
    private static let patienceNs: UInt64 = 5_000_000_000
    private static let retryMs: Int64 = 250
    /// Longer than the longest `wait`, and than the pause between two pieces of any stream.
    private static let silenceMs: Int64 = 330_000
    /// An answer of a stated length up to this is handed on whole.
    private static let wholeBytes = 1 << 20
    private static let waitingBytes = 1 << 20

    private let follower: Follower
    private let call: Call
    private let request: ServerRequest
    private let beganAt: UInt64
    private var connection: ServerConnection?
    private var whole: Response?
    private var isRepeated = false

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard let follower = api.follower else { throw Problem(.notFound, "This host follows nobody.") }
        guard let head = head(of: call, follower) else {
            throw Problem(
                .pathNotAllowed,
                "A ticket of a host that follows another one opens /v1/events there, and nothing else."
            )
        }
        let request = ServerRequest(head, body: call.exchange.body, silenceMs: silenceMs)
        Forward(follower, call, request, on: loop).send(on: loop)
    }

    private init(_ follower: Follower, _ call: Call, _ request: ServerRequest, on loop: isolated EventLoop) {
        self.follower = follower
        self.call = call
        self.request = request
        beganAt = loop.now
    }

    // MARK: The request

    private static func head(of call: Call, _ follower: Follower) -> RequestHead? {
        let target = follower.service.settings.target.path + call.head.target
        // The server leaves out the body of an answer to HEAD, and states its length.
        let method = call.head.method == .head ? .get : call.head.method
        guard var head = try? RequestHead(method: method, target: target) else { return nil }
        head.fields.copy(call.head.fields) { $0.isForwarded }
        // The leader must not take the follower's connection for the caller's.
        head.fields.append(.xForwardedFor, call.exchange.connection.forwardedName)
        if let credential = credential(of: call, follower.service) {
            head.fields.append(.authorization, credential)
        } else if call.caller != .nobody {
            return nil
        }
        return head
    }

    /// The `Authorization` with which the leader is asked for this caller. The owner of this host has the follower's; nil for callers
    /// that show the leader nothing.
    static func credential(of call: Call, _ service: FollowService) -> [UInt8]? {
        switch call.caller {
        case .token: call.head.fields[.authorization].map { Array($0) }
        case .owner: service.credential
        case .tailnet, .ticket, .broker, .nobody: nil
        }
    }

    private func send(on loop: isolated EventLoop) {
        guard call.exchange.isOpen else { return }
        // A leader that has not said who may ask is asked nothing else.
        guard follower.service.isServing(now: loop.now) else {
            return answerFailed(.unreachable(follower.service.fault?.reason ?? "it has not answered yet"), on: loop)
        }
        call.exchange.owner = self
        follower.began(self)
        connection = follower.service.requests.send(request, to: self, on: loop)
    }

    // MARK: The answer

    func answerBegan(_ head: ResponseHead, on loop: isolated EventLoop) {
        var copy = ResponseHead(head.status)
        copy.fields.copy(head.fields) { $0.isHandedBack }
        follower.forwarded.answered &+= 1
        let length = head.fields.string(for: .contentLength).flatMap { Int($0) }
        // As many bytes of a large answer may wait here as of an answer of this host. Any other method has done something at the leader,
        // and its client must not hear that it has not.
        let mayRefuse = call.exchange.method == .get && length ?? 0 > Self.wholeBytes
        if mayRefuse, !call.exchange.reserve(Self.waitingBytes) {
            connection?.cancel(on: loop)
            end()
            return call.fail(.unreadAnswers, on: loop)
        }
        call.settle(head.status, on: loop)
        if head.status == .noContent || head.status == .notModified || length ?? .max <= Self.wholeBytes {
            var response = Response(head.status)
            response.head = copy
            // The leader has compressed what may be.
            response.mayCompress = false
            whole = response
            return
        }
        call.exchange.beginStream(copy, on: loop)
        call.exchange.limitWaiting(to: Self.waitingBytes)
        guard call.exchange.method == .head else { return }
        call.exchange.end(on: loop)
        connection?.cancel(on: loop)
        end()
    }

    func answerContinued(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        if whole != nil {
            whole?.body.append(copying: bytes)
            return
        }
        switch call.exchange.write(bytes, on: loop) {
        case .written: break
        case .waiting: connection?.pause(on: loop)
        case .full, .gone:
            call.exchange.abort(on: loop)
            connection?.cancel(on: loop)
            end()
        }
    }

    func answerEnded(on loop: isolated EventLoop) {
        end()
        if let whole { call.exchange.respond(whole, on: loop) } else { call.exchange.end(on: loop) }
    }

    /// The leader has not been heard for so long that nothing is known of it.
    func giveUp(on loop: isolated EventLoop) {
        isRepeated = true
        connection?.cancel(on: loop)
        answerFailed(.lost(follower.service.fault?.reason ?? "it is silent"), on: loop)
    }

    private func end() {
        connection = nil
        follower.ended(self)
    }

    func answerFailed(_ failure: ServerFailure, on loop: isolated EventLoop) {
        end()
        if call.exchange.isStreaming || whole != nil {
            follower.forwarded.lost &+= 1
            return call.exchange.abort(on: loop)
        }
        guard call.exchange.isOpen else { return }
        let mayRepeat: Bool
        switch failure {
        case .unreachable: mayRepeat = true
        case .lost:
            mayRepeat = !isRepeated && request.head.method == .get
            isRepeated = true
        }
        if mayRepeat, loop.now - beganAt < Self.patienceNs {
            loop.after(milliseconds: Self.retryMs) { self.send(on: loop) }
            return
        }
        switch failure {
        case .unreachable(let reason):
            follower.forwarded.noLeader &+= 1
            call.fail(.noLeader(reason), on: loop)
        case .lost(let reason):
            follower.forwarded.lost &+= 1
            call.fail(.leaderLost(reason), on: loop)
        }
    }

    // MARK: ExchangeOwner

    /// A read ends with its client. What changes something is done all the same, as at the leader itself.
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard exchange.isStreaming || exchange.status != nil || request.head.method == .get else { return }
        connection?.cancel(on: loop)
        end()
    }

    func drained(_ exchange: Exchange, on loop: isolated EventLoop) { connection?.resume(on: loop) }
}

extension HeaderFields {
    /// Takes over the fields that pass, byte for byte; not those of the connection, proxies and forwarding.
    fileprivate mutating func copy(_ other: HeaderFields, where passes: (FieldName) -> Bool) {
        let ofConnection = (other.list(for: .connection).map { String(decoding: $0, as: UTF8.self) } ?? "").lowercased()
            .split { $0 == "," || $0 == " " }
        for index in other.indices where passes(other.slots[index].name) {
            let shown = other.name(at: index)
            let name = shown.lowercased()
            guard !name.hasPrefix("proxy-"), !ForwardingHeaders.contains(name), !ofConnection.contains(name[...]) else {
                continue
            }
            append(shown, other.value(at: index))
        }
    }
}

extension FieldName {
    /// Whether a field of a request means something to the leader. Those of the connection, of browsers and of proxies are for this host.
    fileprivate var isForwarded: Bool {
        switch self {
        case .accept, .acceptEncoding, .acceptLanguage, .contentType, .idempotencyKey, .ifMatch, .ifModifiedSince,
            .ifNoneMatch,
            .ifUnmodifiedSince, .ladleVersion, .lastEventID, .prefer, .range, .traceparent, .userAgent, .other:
            true
        default: false
        }
    }

    /// Whether a field of the leader's answer is for the client, and not of the connection or of this host.
    fileprivate var isHandedBack: Bool {
        switch self {
        case .connection, .keepAlive, .contentLength, .transferEncoding, .trailer, .upgrade, .date, .server, .via,
            .accessControlAllowHeaders, .accessControlAllowMethods, .accessControlAllowOrigin,
            .accessControlAllowPrivateNetwork, .accessControlExposeHeaders, .accessControlMaxAge, .proxyConnection,
            .requestID, .ladleVersion, .xContentTypeOptions:
            false
        default: true
        }
    }
}

extension ConnectionInfo {
    fileprivate var forwardedName: String {
        if case .ip(let address, port: _) = remote { "\(address)" } else { "unknown" }
    }
}

extension Problem {
    static func noLeader(_ reason: String?) -> Problem {
        Problem(.noLeader, "The leader cannot be reached\(reason.map { ": \($0)" } ?? " yet").")
    }

    static func leaderLost(_ reason: String) -> Problem {
        Problem(.leaderLost, "The leader was lost before it answered, and may have acted: \(reason).")
    }
}
