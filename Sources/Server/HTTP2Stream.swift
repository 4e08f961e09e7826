import Compression
import EventLoops
import HTTP2
import HTTPModel

/// One exchange of an HTTP/2 connection.
final class HTTP2Stream: ExchangeSink {
    let id: HTTP2StreamID
    /// Released when the stream is released, so that a write that finds the connection dead can still finish.
    private let connection: HTTP2Connection
    var exchange: Exchange?
    private var bodyLimit = 0
    var isBodyWanted = true
    private var hasEnded = false
    private var limit = 1 << 20
    /// The admission is still pending; until then the flow-control window limits the bytes to keep.
    var isDeferred = false
    private var isStream = false
    private var coder: GzipStream?
    /// Of the answer, until the peer has read it whole.
    private var unread: [HeldBytes.Share] = []

    init(_ id: HTTP2StreamID, of connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
    }

    func received(_ bytes: [UInt8], on loop: isolated EventLoop) {
        guard isBodyWanted, let exchange else { return connection.consume(bytes.count, on: id) }
        if isDeferred { return exchange.body.append(contentsOf: bytes) }
        connection.consume(bytes.count, on: id)
        guard exchange.body.count + bytes.count <= bodyLimit else { return refuseBody(of: exchange, on: loop) }
        if connection.server.takeBody(bytes.span, of: exchange) { return }
        isBodyWanted = false
        exchange.respond(.unfinishedBodies, on: loop)
    }

    /// The request was admitted. A body whose stated length is too large is not requested.
    func takeBody(upTo limit: Int, ends: Bool, on loop: isolated EventLoop) {
        bodyLimit = limit
        guard let exchange, !ends else { return }
        if let text = exchange.head.fields.string(for: .contentLength), let length = Int(text), length > limit {
            return refuseBody(of: exchange, on: loop)
        }
        connection.inviteBody(of: exchange, on: id, loop: loop)
    }

    private func refuseBody(of exchange: Exchange, on loop: isolated EventLoop) {
        isBodyWanted = false
        exchange.respond(
            Problem(.bodyTooLarge, "The body is larger than \(bodyLimit) bytes."),
            on: loop
        )
    }

    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {
        guard self.exchange === exchange, isDeferred else { return }
        isDeferred = false
        takeBody(upTo: bodyBytes, ends: hasEnded, on: loop)
        let early = exchange.body
        exchange.body = []
        if !early.isEmpty { received(early, on: loop) }
        if hasEnded { requestEnded(on: loop) }
        // Sends the window update that was withheld until now.
        connection.flushSoon(on: loop)
    }

    func requestEnded(on loop: isolated EventLoop) {
        hasEnded = true
        guard !isDeferred, let exchange, exchange.isOpen, isBodyWanted else { return }
        connection.server.responder.respond(to: exchange, on: loop)
    }

    /// Enforces the same minimum rate as HTTP/1.
    func checkBody(on loop: isolated EventLoop) {
        let limits = connection.server.limits
        guard !hasEnded, !isDeferred, isBodyWanted, let exchange, !limits.isOnTime(exchange, on: loop) else { return }
        isBodyWanted = false
        exchange.respond(
            Problem(.requestTimeout, "The body arrived slower than \(limits.bodyBytesPerSecond) bytes a second."),
            on: loop
        )
    }

    func drained(on loop: isolated EventLoop) {
        exchange?.outputDrained(on: loop)
    }

    func closed(on loop: isolated EventLoop) {
        for share in unread { connection.server.unread.giveBack(share) }
        unread = []
        guard let exchange else { return }
        exchange.peerLeft(on: loop)
        finished(exchange, on: loop)
    }

    /// Runs once, because sending an answer may already end the stream.
    private func finished(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        self.exchange = nil
        if isStream {
            connection.server.counters.openStreams -= 1
            exchange.connection.openStreams -= 1
        }
        isStream = false
        connection.server.finished(exchange, on: loop)
    }

    // MARK: ExchangeSink

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        // After the answer the session itself throws the rest of the body away.
        isBodyWanted = false
        connection.send(response, to: exchange, on: id, loop: loop)
        finished(exchange, on: loop)
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {
        isStream = true
        coder = exchange.method == .head ? nil : ContentCoding.coder(for: head)
        connection.server.releaseBody(of: exchange)
        connection.server.counters.openStreams += 1
        exchange.connection.openStreams += 1
        connection.begin(head, on: id, loop: loop)
    }

    /// No shared bytes, because each stream has its own frames, window and place in the connection's order.
    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        guard self.exchange === exchange else { return .gone }
        let pending = connection.pendingBytes(on: id)
        guard pending == 0 || pending + bytes.count <= limit else { return .full }
        var copy: [UInt8] = []
        if let coder { coder.compress(bytes, into: &copy) } else { copy.append(copying: bytes, from: 0) }
        connection.write(copy, on: id, end: false, loop: loop)
        let waiting = connection.pendingBytes(on: id)
        return waiting > 0 ? .waiting(waiting) : .written
    }

    func end(_ exchange: Exchange, on loop: isolated EventLoop) {
        var rest: [UInt8] = []
        coder?.finish(into: &rest)
        connection.write(rest, on: id, end: true, loop: loop)
        finished(exchange, on: loop)
    }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        connection.reset(id, .cancel, on: loop)
        finished(exchange, on: loop)
    }

    func hold(_ bytes: Int, for exchange: Exchange) -> Bool {
        let server = connection.server
        guard let share = server.unread.take(bytes, for: server.responder.holder(of: exchange)) else { return false }
        unread.append(share)
        return true
    }

    func waitingBytes(of exchange: Exchange) -> Int { connection.pendingBytes(on: id) }

    func isBehind(_ exchange: Exchange) -> Bool { connection.isBehind }

    func limitWaiting(to bytes: Int, for exchange: Exchange) {
        limit = bytes
    }
}
