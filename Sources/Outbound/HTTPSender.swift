import Basics
package import EventLoops
import HTTP1
import HTTPModel
package import Notifications
package import POSIX
package import TLS

/// Sends requests to sinks, each over a connection of its own. One look-up returns the addresses; they are checked, and
/// only these are used. Redirects are not followed, and only the start of an answer is read.
package final class HTTPSender {
    /// Looks up a name on any thread; the answer comes on the loop.
    package typealias LookUp =
        @Sendable (
            _ host: String, _ port: UInt16, _ loop: EventLoop,
            _ completion: @escaping @Sendable ([SocketAddress], isolated EventLoop) -> Void
        ) -> Void

    private let trust: TLSTrust
    private let permit: Permit?
    private let lookUp: LookUp
    private var context: TLSClientContext?
    /// Requests in progress; each is removed when it ends.
    private var open: [ObjectIdentifier: HTTPSending] = [:]

    /// - Parameters:
    ///   - trust: the system's authorities, or a test's.
    ///   - permit: of one of several hosts. Without it nothing is sent.
    ///   - lookUp: the system's resolver, or a test's.
    package init(
        trust: TLSTrust = .system,
        permit: Permit? = nil,
        lookUp: @escaping LookUp = { Resolver.resolve(host: $0, port: $1, for: $2, $3) }
    ) {
        self.trust = trust
        self.permit = permit
        self.lookUp = lookUp
    }

    package func send(
        _ request: SinkRequest,
        allowed policy: AddressPolicy,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        if !request.isTrusted, let refusal = policy.refusal(of: request.url) {
            return completion(.refused(refusal))
        }
        let sending = HTTPSending(request, policy, permit) { [weak self] sending, outcome in
            self?.open[ObjectIdentifier(sending)] = nil
            completion(outcome)
        }
        open[ObjectIdentifier(sending)] = sending
        sending.start(lookUp, on: loop) { [self] () throws(TLSError) in
            if let context { return try context.makeSession(host: request.url.host) }
            let context = try TLSClientContext(trust: trust)
            self.context = context
            return try context.makeSession(host: request.url.host)
        }
    }
}

extension DeliveryMachine.Outcome {
    fileprivate static func refused(_ refusal: AddressPolicy.Refusal) -> DeliveryMachine.Outcome {
        .failed(status: nil, error: "the address is not allowed: \(refusal.rawValue)", retryAfterMs: nil)
    }
}

/// One request from the look-up to the end of its answer.
private final class HTTPSending: StreamHandler {
    /// The time for the look-up, all addresses, the request and its answer together.
    private static let wholeMs: Int64 = 20_000
    private static let connectMs: Int64 = 5_000
    /// The most bytes read of an answer, head and body. Only the head is used.
    private static let answerBytes = 4 << 10

    private let request: SinkRequest
    private let policy: AddressPolicy
    private let permit: Permit?
    private var completion: ((HTTPSending, DeliveryMachine.Outcome) -> Void)?
    private var addresses = AddressesToTry()
    private var stream: StreamConnection?
    private var parser = HTTPSending.newParser()
    private var hasHead = false
    private var taken = 0
    private var timers: [TimerID] = []
    private var makeSession: () throws(TLSError) -> TLSSession? = { nil }

    private static func newParser() -> HTTP1ResponseParser {
        HTTP1ResponseParser(requestMethod: .post, limits: HTTP1Limits(body: .max))
    }

    init(
        _ request: SinkRequest,
        _ policy: AddressPolicy,
        _ permit: Permit?,
        completion: @escaping (HTTPSending, DeliveryMachine.Outcome) -> Void
    ) {
        self.request = request
        self.policy = policy
        self.permit = permit
        self.completion = completion
    }

    func start(
        _ lookUp: HTTPSender.LookUp,
        on loop: isolated EventLoop,
        session: @escaping () throws(TLSError) -> TLSSession
    ) {
        if request.url.isTLS { makeSession = session }
        timers.append(
            loop.after(milliseconds: Self.wholeMs) { [weak self] in
                self?.end("no answer within 20 s", on: loop)
            }
        )
        if let address = SocketAddress(host: request.url.host, port: request.url.port) {
            return found([address], on: loop)
        }
        let bound = LoopBound(self, on: loop)
        lookUp(request.url.host, request.url.port, loop) { found, loop in bound.value(on: loop)?.found(found, on: loop)
        }
    }

    private func found(_ addresses: [SocketAddress], on loop: isolated EventLoop) {
        guard completion != nil else { return }
        if !request.isTrusted, let refusal = policy.refusal(of: request.url, at: addresses.compactMap(\.networkAddress))
        {
            return finish(.refused(refusal), on: loop)
        }
        self.addresses = AddressesToTry(addresses)
        connectNext(on: loop)
    }

    private func connectNext(on loop: isolated EventLoop) {
        // Another address answers anew.
        (parser, taken) = (Self.newParser(), 0)
        do throws(TLSError) {
            stream = try addresses.next(
                for: self,
                sendLimit: NotificationLimits.payloadBytes * 2,
                permit: permit,
                on: loop,
                session: makeSession
            )
        } catch {
            return end("\(error)", on: loop)
        }
        guard let stream else { return end(addresses.lastError, on: loop) }
        timers.append(
            loop.after(milliseconds: Self.connectMs) { [weak self, weak stream] in
                guard let self, let stream, self.stream === stream, !stream.isOpen else { return }
                self.addresses.lastError = "no connection within 5 s"
                stream.close(on: loop)
            }
        )
    }

    // MARK: The connection

    func connected(on loop: isolated EventLoop) {
        guard let stream else { return }
        var bytes: [UInt8] = []
        guard var head = try? RequestHead(method: HTTPMethod(request.method.utf8), target: request.url.target) else {
            return end("the address cannot be asked for", on: loop)
        }
        for field in request.fields { head.fields.append(field.name, field.value) }
        head.fields.append("User-Agent", "Ladle")
        head.fields.append("Accept", "*/*")
        head.fields.append("Connection", "close")
        HTTP1RequestEncoder.appendHead(
            head,
            host: request.url.hostField,
            body: request.body.isEmpty ? .none : .length(request.body.count),
            to: &bytes
        )
        _ = stream.send(bytes + request.body, on: loop)
    }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard completion != nil else { return }
        let piece = bytes.extracting(0..<min(bytes.count, Self.answerBytes - taken))
        taken += piece.count
        var offset = 0
        do throws(HTTP1ParseError) {
            while true {
                switch try parser.next(in: piece, from: &offset) {
                case .needMore:
                    guard taken >= Self.answerBytes else { return }
                    return hasHead ? answered(on: loop) : end("the answer's head is too long", on: loop)
                case .head: hasHead = true
                case .body: continue
                case .end: return answered(on: loop)
                }
            }
        } catch {
            if hasHead { answered(on: loop) } else { end("the answer is no HTTP: \(error)", on: loop) }
        }
    }

    func receivedEnd(on loop: isolated EventLoop) {
        if hasHead { answered(on: loop) } else { end("the connection ended without an answer", on: loop) }
    }

    func drained(on loop: isolated EventLoop) {}

    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        guard completion != nil else { return }
        let wasOpen = stream?.takenBytes ?? 0 > 0 && !request.url.isTLS
        stream = nil
        if hasHead { return answered(on: loop) }
        switch reason {
        case .closedHere: break
        case .lost(let error): addresses.lastError = error.reason
        case .tls(let error):
            // The name's other addresses have the same certificate.
            return end("TLS: \(error.reasons.first ?? error.operation)", on: loop)
        }
        if wasOpen { return end(addresses.lastError, on: loop) }
        connectNext(on: loop)
    }

    // MARK: The end

    private func answered(on loop: isolated EventLoop) {
        let status = Int(parser.head.status.code)
        if (200..<300).contains(status) { return finish(.accepted(status: status), on: loop) }
        let wait = parser.head.fields.string(for: .retryAfter).flatMap { Int64($0) }
        let error = (300..<400).contains(status) ? "\(status): redirects are not followed" : "status \(status)"
        finish(
            .failed(
                status: status,
                error: error,
                retryAfterMs: wait.map { min(max($0, 0), NotificationLimits.longestMs / 1000) * 1000 }
            ),
            on: loop
        )
    }

    private func end(_ error: String, on loop: isolated EventLoop) {
        if hasHead { return answered(on: loop) }
        finish(.failed(status: nil, error: String(error.prefix(200)), retryAfterMs: nil), on: loop)
    }

    private func finish(_ outcome: DeliveryMachine.Outcome, on loop: isolated EventLoop) {
        guard let completion else { return }
        self.completion = nil
        for timer in timers { loop.cancel(timer) }
        let last = stream
        stream = nil
        last?.close(on: loop)
        completion(self, outcome)
    }
}

extension SocketAddress {
    fileprivate var networkAddress: NetworkAddress? {
        if case .ip(let address, _) = self { address } else { nil }
    }
}
