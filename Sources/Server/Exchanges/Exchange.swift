import Basics
package import EventLoops
package import HTTPModel

/// The wire's side of an exchange: HTTP/1 has one a connection, HTTP/2 one a stream.
package protocol ExchangeSink: AnyObject {
    /// A whole answer.
    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop)
    /// The head of an answer whose body follows piece by piece and has no stated length.
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop)
    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome
    /// The way past the exchange for bytes that go to many; nil where each stream has its own form of them.
    func outlet(for exchange: Exchange) -> SharedBytesTarget?
    /// Bytes that were handed to the outlet wait: the peer has so long to take them.
    func outletWaits(for exchange: Exchange, on loop: isolated EventLoop)
    func end(_ exchange: Exchange, on loop: isolated EventLoop)
    /// Ends without an orderly end, so that the peer sees the body as cut.
    func abort(_ exchange: Exchange, on loop: isolated EventLoop)
    /// Bytes of this exchange that the kernel has not taken.
    func waitingBytes(of exchange: Exchange) -> Int
    /// Its connection has much that the peer has not taken: what is large had better wait.
    func isBehind(_ exchange: Exchange) -> Bool
    /// The most that may wait, in bytes.
    func limitWaiting(to bytes: Int, for exchange: Exchange)
    /// After an admission that came later: the body may come.
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop)
    /// A peer that has ended its own direction is taken for gone from here on.
    func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop)
}

extension ExchangeSink {
    /// For protocols in which it is always so.
    package func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop) {}
}

/// Where the bytes of a stream leave, and in which form.
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

/// Takes bytes that are in their form already, and knows nothing of requests.
package protocol StreamTarget: AnyObject {
    func take(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome
}

package enum WriteOutcome: Equatable, Sendable {
    case written
    /// Taken, but so many bytes wait now; the owner's `drained` tells when none does.
    case waiting(Int)
    /// Not taken: it would have gone over the limit.
    case full
    case gone
}

/// Who keeps an exchange open.
package protocol ExchangeOwner: AnyObject {
    /// The peer has gone, or the stream was cut; not called after `end` or an answer.
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop)
    /// Nothing waits any more.
    func drained(_ exchange: Exchange, on loop: isolated EventLoop)
}

/// One request and its answer, whatever the protocol. Owned by the loop; answered once.
package final class Exchange {
    private enum State {
        case open, streaming, over
    }

    package private(set) var head: RequestHead
    /// The head is byte for byte the one before it on this connection: what was found out from that still holds.
    package let repeatsLast: Bool
    package let version: HTTPVersion
    private var state = State.open
    package private(set) var status: HTTPStatus?
    package let method: HTTPMethod
    package let connection: ConnectionInfo
    /// Unique in this process; in problem documents and the log.
    package let number: UInt64
    /// Monotonic nanoseconds.
    package let startedAt: UInt64
    /// Complete when the responder is asked to respond.
    package var body: [UInt8] = []
    /// The responder's own notes from admission to answer.
    package var notes: AnyObject?
    /// Kept until the answer or the end.
    package var owner: (any ExchangeOwner)?
    /// The code of the problem it was answered with.
    package private(set) var problemCode: ProblemCode?
    /// Fields that every answer to this request has, whatever comes of it.
    package var commonFields: [(name: String, value: String)] = []
    /// As a stream does: who waits for long and has gone away must not hold what the wait holds.
    private(set) var endsWithPeer = false
    /// Given up with the answer; until then the sink keeps the exchange too.
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
        respond(problem.response(requestID: requestID), on: loop)
    }

    package func beginStream(_ head: ResponseHead, on loop: isolated EventLoop) {
        guard state == .open else { return }
        state = .streaming
        status = head.status
        var head = head
        for field in commonFields { head.fields.append(field.name, field.value) }
        sink?.begin(head, for: self, on: loop)
        // A stream may last for days; of its request only the method matters from here on.
        self.head = RequestHead()
        body = []
    }

    /// Ends the wait of an exchange that was admitted `later`.
    package func proceed(bodyBytes: Int, on loop: isolated EventLoop) {
        guard state == .open else { return }
        sink?.proceed(self, bodyBytes: bodyBytes, on: loop)
    }

    /// Once the owner is set: the peer's end may be here already.
    package func endWithPeer(on loop: isolated EventLoop) {
        guard state == .open else { return }
        endsWithPeer = true
        sink?.endWithPeer(self, on: loop)
    }

    package func write(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        guard state == .streaming, let sink else { return .gone }
        return sink.write(bytes, for: self, on: loop)
    }

    /// Good until the end.
    package var outlet: SharedBytesTarget? { state == .streaming ? sink?.outlet(for: self) : nil }

    package func outletWaits(on loop: isolated EventLoop) {
        sink?.outletWaits(for: self, on: loop)
    }

    package func write(_ bytes: [UInt8], on loop: isolated EventLoop) -> WriteOutcome {
        let span = bytes.span
        return write(span, on: loop)
    }

    package var waitingBytes: Int { sink?.waitingBytes(of: self) ?? 0 }

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

    /// Ends it from our side, whatever it is at: with this answer where none has begun. Whoever keeps it open hears of it.
    package func cut(_ problem: Problem, on loop: isolated EventLoop) {
        let owner = owner
        respond(problem, on: loop)
        abort(on: loop)
        owner?.peerLeft(self, on: loop)
    }

    /// From the sink: the connection or stream is no more.
    package func peerLeft(on loop: isolated EventLoop) {
        guard state != .over else { return }
        state = .over
        let owner = owner
        release { _ in }
        owner?.peerLeft(self, on: loop)
    }

    /// From the sink: nothing waits any more.
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

/// `req-` and a number that starts at a random place, so that ids of two runs of the program do not meet in a log.
package enum RequestID {
    package static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 36)
        return "req-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }
}
