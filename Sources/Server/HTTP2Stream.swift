import EventLoops
import Exchanges
import HTTP2
import HTTPModel

/// One exchange of an HTTP/2 connection.
final class HTTP2Stream: ExchangeSink {
    let id: HTTP2StreamID
    private unowned let connection: HTTP2Connection
    var exchange: Exchange?
    var bodyLimit = 0
    var isBodyWanted = true
    private var hasEnded = false
    private var limit = 1 << 20

    init(_ id: HTTP2StreamID, of connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
    }

    func received(_ bytes: [UInt8], on loop: isolated EventLoop) {
        connection.consume(bytes.count, on: id)
        guard isBodyWanted, let exchange else { return }
        guard exchange.body.count + bytes.count <= bodyLimit else {
            isBodyWanted = false
            return exchange.respond(
                Problem(
                    .contentTooLarge,
                    "BODY_TOO_LARGE",
                    "Content too large",
                    "The body is larger than \(bodyLimit) bytes.",
                    retryable: false
                ),
                on: loop
            )
        }
        exchange.body.append(contentsOf: bytes)
    }

    func requestEnded(on loop: isolated EventLoop) {
        hasEnded = true
        guard let exchange, exchange.isOpen, isBodyWanted else { return }
        connection.server.responder.respond(to: exchange, on: loop)
    }

    /// The same minimum rate as on HTTP/1.
    func checkBody(on loop: isolated EventLoop) {
        guard !hasEnded, isBodyWanted, let exchange else { return }
        let limits = connection.server.limits
        let milliseconds =
            Int64(clamping: (loop.now &- exchange.startedAt) / 1_000_000) - limits.bodyGraceMilliseconds
        guard milliseconds > 0,
            Int64(exchange.body.count) * 1000 < Int64(limits.bodyBytesPerSecond) * milliseconds
        else { return }
        isBodyWanted = false
        exchange.respond(
            Problem(
                .requestTimeout,
                "REQUEST_TIMEOUT",
                "Request timeout",
                "The body arrived slower than \(limits.bodyBytesPerSecond) bytes a second.",
                retryable: true
            ),
            on: loop
        )
    }

    func drained(on loop: isolated EventLoop) {
        exchange?.drained?()
    }

    func closed(on loop: isolated EventLoop) {
        guard let exchange else { return }
        self.exchange = nil
        if exchange.isStreaming { connection.server.counters.openStreams -= 1 }
        exchange.peerLeft(on: loop)
        connection.server.responder.finished(exchange, on: loop)
    }

    private func finished(_ exchange: Exchange, on loop: isolated EventLoop) {
        self.exchange = nil
        connection.server.responder.finished(exchange, on: loop)
    }

    // MARK: ExchangeSink

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        connection.send(response, to: exchange.head, on: id, loop: loop)
        // The rest of a body nobody wants need not be sent (RFC 9113 §8.1).
        if !hasEnded { connection.reset(id, .noError, on: loop) }
        finished(exchange, on: loop)
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {
        connection.begin(head, on: id, loop: loop)
    }

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        guard self.exchange === exchange else { return .gone }
        guard connection.pendingBytes(on: id) + bytes.count <= limit else { return .full }
        var copy: [UInt8] = []
        copy.append(copying: bytes, from: 0)
        connection.write(copy, on: id, end: false, loop: loop)
        let waiting = connection.pendingBytes(on: id)
        return waiting > 0 ? .waiting(waiting) : .written
    }

    func end(_ exchange: Exchange, on loop: isolated EventLoop) {
        connection.server.counters.openStreams -= 1
        connection.write([], on: id, end: true, loop: loop)
        finished(exchange, on: loop)
    }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        if exchange.status != nil { connection.server.counters.openStreams -= 1 }
        connection.reset(id, .cancel, on: loop)
        finished(exchange, on: loop)
    }

    func waitingBytes(of exchange: Exchange) -> Int { connection.pendingBytes(on: id) }

    func limitWaiting(to bytes: Int, for exchange: Exchange) {
        limit = bytes
    }
}
