import Basics
package import EventLoops
package import HTTPModel

/// The protocol's side of an exchange. An HTTP/1 connection has one sink, an HTTP/2 connection one for each stream.
package protocol ExchangeSink: AnyObject {
    /// Sends a whole answer.
    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop)
    /// Sends the head of an answer whose body follows in pieces, without a stated length.
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop)
    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome
    /// A direct target for bytes that go to many streams; nil if each stream frames them differently.
    func directTarget(for exchange: Exchange) -> SharedBytesTarget?
    /// Bytes written directly to the directTarget are waiting; from now the peer has limited time to take them.
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop)
    func end(_ exchange: Exchange, on loop: isolated EventLoop)
    /// Ends without an orderly end, so that the peer sees a truncated body.
    func abort(_ exchange: Exchange, on loop: isolated EventLoop)
    /// The bytes of this exchange that the kernel has not taken.
    func waitingBytes(of exchange: Exchange) -> Int
    /// True if the peer has left much of the connection's output untaken; large output should wait.
    func isBehind(_ exchange: Exchange) -> Bool
    /// Sets the most bytes that may wait.
    func limitWaiting(to bytes: Int, for exchange: Exchange)
    /// Keeps room for so many more bytes of the answer until the peer has read it. False if there is none.
    func hold(_ bytes: Int, for exchange: Exchange) -> Bool
    /// Continues after a delayed admission: the body is now accepted.
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop)
    /// From here on a peer that has ended its own direction counts as gone.
    func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop)
}

extension ExchangeSink {
    /// The default for protocols in which this always holds.
    package func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop) {}
    /// The default where the answer goes to the program itself.
    package func hold(_ bytes: Int, for exchange: Exchange) -> Bool { true }
}

/// The target of a stream's bytes, and the form in which it expects them.
package struct SharedBytesTarget {
    package enum Form: Hashable, Sendable {
        case plain
        /// A chunk of RFC 9112 §7.1.
        case chunk

        package func framed(_ bytes: [UInt8]) -> [UInt8] {
            switch self {
            case .plain: bytes
            case .chunk: Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
            }
        }
    }

    package let form: Form
    package let target: any StreamTarget

    package init(_ form: Form, to target: any StreamTarget) {
        self.form = form
        self.target = target
    }
}

/// Takes bytes that already have their wire form, independent of requests.
package protocol StreamTarget: AnyObject {
    func take(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome
}

package enum WriteOutcome: Equatable, Sendable {
    case written
    /// The bytes were taken, and this many bytes wait now; the owner's `drained` reports an empty queue.
    case waiting(Int)
    /// The bytes were not taken, because the queue would have gone over its limit.
    case full
    case gone
}

/// The service that keeps an exchange open and answers it later.
package protocol ExchangeOwner: AnyObject {
    /// The peer has gone, or the stream was cut. Not called after `end` or an answer.
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop)
    /// All waiting bytes have been sent.
    func drained(_ exchange: Exchange, on loop: isolated EventLoop)
}

/// One request and its answer, in any protocol version. Owned by the loop and answered once.
package final class Exchange {
    private enum State {
        case open, streaming, over
    }

    package private(set) var head: RequestHead
    /// The head equals the previous head on this connection byte for byte, so results derived from that one still hold.
    package let repeatsLast: Bool
    package let version: HTTPVersion
    private var state = State.open
    package private(set) var status: HTTPStatus?
    package let method: HTTPMethod
    package let connection: ConnectionInfo
    /// Unique in this process; used in problem documents and the log.
    package let number: UInt64
    /// In monotonic nanoseconds.
    package let startedAt: UInt64
    /// Complete when `Responder.respond` is called.
    package var body: [UInt8] = []
    /// The memory of a large body, until the exchange ends or streams.
    var bodyShare: HeldBytes.Share?
    /// Data that the responder keeps from admission to answer.
    package var notes: AnyObject?
    /// The owner, until the answer or the end.
    package var owner: (any ExchangeOwner)?
    /// The code of the problem that answered the request.
    package private(set) var problemCode: ProblemCode?
    /// Fields that every answer to this request carries, successes and problems alike.
    package var commonFields: [(name: String, value: String)] = []
    /// Writes problems in another form than Ladle's own, for clients of another API.
    package var problemForm: ((Problem, _ requestID: String) -> Response)?
    /// True if the exchange ends when the peer ends its direction, as streams do. A long wait then releases its
    /// resources once the client has gone.
    private(set) var endsWithPeer = false
    /// The bytes for which the sink keeps room.
    private var reserved = 0
    /// Released with the answer; until then the exchange and its sink keep each other.
    private var sink: (any ExchangeSink)?

    package init(
        head: RequestHead,
        repeatsLast: Bool = false,
        connection: ConnectionInfo,
        number: UInt64,
        sink: any ExchangeSink,
        on loop: isolated EventLoop
    ) {
        self.head = head
        self.repeatsLast = repeatsLast
        method = head.method
        version = head.version
        self.connection = connection
        self.number = number
        self.sink = sink
        startedAt = loop.now
    }

    package var requestID: String { RequestID.text(number) }
    package var isOpen: Bool { state == .open }
    package var isStreaming: Bool { state == .streaming }

    package func respond(_ response: Response, on loop: isolated EventLoop) {
        guard state == .open else { return }
        // Any other method has done something, and its client must not hear that it has not.
        let size = method == .get ? response.body.count : 0
        if size >= HeldBytes.smallestAnswer, !reserve(size) { return respond(.unreadAnswers, on: loop) }
        state = .over
        status = response.head.status
        if commonFields.isEmpty {
            release { $0.send(response, for: self, on: loop) }
        } else {
            var response = response
            for field in commonFields { response.head.fields.append(field.name, field.value) }
            release { $0.send(response, for: self, on: loop) }
        }
    }

    package func respond(_ problem: Problem, on loop: isolated EventLoop) {
        guard state == .open else { return }
        problemCode = problem.code
        respond(response(to: problem), on: loop)
    }

    /// The problem in the form that the client of this request reads.
    func response(to problem: Problem) -> Response {
        problemForm?(problem, requestID) ?? problem.response(requestID: requestID)
    }

    package func beginStream(_ head: ResponseHead, on loop: isolated EventLoop) {
        guard state == .open else { return }
        state = .streaming
        status = head.status
        var head = head
        for field in commonFields { head.fields.append(field.name, field.value) }
        sink?.begin(head, for: self, on: loop)
        // A stream may last for days, and from here on it needs only the method of its request.
        self.head = RequestHead()
        body = []
    }

    /// Continues an exchange whose admission was `later`.
    package func proceed(bodyBytes: Int, on loop: isolated EventLoop) {
        guard state == .open else { return }
        sink?.proceed(self, bodyBytes: bodyBytes, on: loop)
    }

    /// Call this after setting the owner, because the peer's end may have arrived already.
    package func endWithPeer(on loop: isolated EventLoop) {
        guard state == .open else { return }
        endsWithPeer = true
        sink?.endWithPeer(self, on: loop)
    }

    package func write(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        guard state == .streaming, let sink else { return .gone }
        return sink.write(bytes, for: self, on: loop)
    }

    /// Valid until the exchange ends.
    package var directTarget: SharedBytesTarget? { state == .streaming ? sink?.directTarget(for: self) : nil }

    package func directTargetWaits(on loop: isolated EventLoop) {
        sink?.directTargetWaits(for: self, on: loop)
    }

    package func write(_ bytes: [UInt8], on loop: isolated EventLoop) -> WriteOutcome {
        let span = bytes.span
        return write(span, on: loop)
    }

    package var waitingBytes: Int { sink?.waitingBytes(of: self) ?? 0 }

    /// Keeps room for an answer of this size, before work that would be in vain otherwise. False if there is none.
    package func reserve(_ bytes: Int) -> Bool {
        guard bytes > reserved, let sink else { return true }
        guard sink.hold(bytes - reserved, for: self) else { return false }
        reserved = bytes
        return true
    }

    package var isBehind: Bool { sink?.isBehind(self) ?? false }

    package func limitWaiting(to bytes: Int) {
        sink?.limitWaiting(to: bytes, for: self)
    }

    package func end(on loop: isolated EventLoop) {
        guard state == .streaming else { return }
        state = .over
        release { $0.end(self, on: loop) }
    }

    package func abort(on loop: isolated EventLoop) {
        guard state != .over else { return }
        state = .over
        release { $0.abort(self, on: loop) }
    }

    /// Ends the exchange from our side in any state; sends the problem if no answer has begun. Its owner is notified.
    package func cut(_ problem: Problem, on loop: isolated EventLoop) {
        let owner = owner
        respond(problem, on: loop)
        abort(on: loop)
        owner?.peerLeft(self, on: loop)
    }

    /// Called by the sink: the connection or stream has ended.
    package func peerLeft(on loop: isolated EventLoop) {
        guard state != .over else { return }
        state = .over
        let owner = owner
        release { _ in }
        owner?.peerLeft(self, on: loop)
    }

    /// Called by the sink: all waiting bytes have been sent.
    package func outputDrained(on loop: isolated EventLoop) {
        owner?.drained(self, on: loop)
    }

    private func release(_ last: (any ExchangeSink) -> Void) {
        if owner != nil { owner = nil }
        guard let sink else { return }
        last(sink)
        self.sink = nil
    }
}

/// `req-` and a number with a random start, so that the IDs of two runs of the program do not collide in a log.
package enum RequestID {
    package static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 36)
        return "req-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }
}
