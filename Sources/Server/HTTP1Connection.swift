import Compression
import EventLoops
import HTTP1
import HTTPModel

/// HTTP/1.1 on one connection: requests one at a time, answers in order, at most one exchange under way.
final class HTTP1Connection: WireProtocol, ExchangeSink, YieldedWork {
    enum Ending {
        case keepAlive
        /// After the answer now being written.
        case closeAfterAnswer
        /// That answer has been given: nothing more is read from the peer.
        case answered
        case closing
    }

    /// What the peer is expected to do next, and so how long it may take.
    enum Phase {
        case idle, head, body, answer, output
    }

    /// Answers that the peer does not take: above this its next request is not looked at. Also how much is gathered
    /// into one write.
    static let outputBytes = 256 << 10

    /// Strong, so that a write which finds the peer gone can still finish its work here; `closed` breaks the cycle.
    let connection: HTTPConnection
    let server: HTTPServer
    let stream: StreamConnection
    var parser: HTTP1Parser
    var exchange: Exchange?
    /// Bytes that came while an answer was under way.
    var pipelined: [UInt8] = []
    /// Answers made while input is worked through leave in one write.
    var out: [UInt8] = []
    var takenAtWatch: UInt64 = 0
    var isPaused = false
    /// The exchange waits for its admission.
    var isDeferred = false
    /// Too much output waits for the peer.
    var isChoked = false
    /// What is in `pipelined` waits for a later turn.
    var isYielding = false
    var inputEnded = false
    var isBodyWanted = true
    var isGathering = false
    var ending = Ending.keepAlive
    var phase: Phase?
    var isStream = false
    /// The stream's body has chunks; an older peer's ends with the connection alone.
    var isChunked = false
    var coder: GzipStream?

    init(_ connection: HTTPConnection) {
        self.connection = connection
        server = connection.server
        stream = connection.stream
        parser = HTTP1Parser(limits: connection.server.limits.http1)
    }

    // MARK: Input

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard ending != .closing, ending != .answered else { return }
        if pipelined.isEmpty, !isDeferred, !isChoked, exchange == nil || !parser.isEnded {
            work(through: bytes, on: loop)
        } else {
            keep(bytes, from: 0, on: loop)
        }
    }

    private func keep(_ bytes: Span<UInt8>, from start: Int, on loop: isolated EventLoop) {
        guard start < bytes.count else { return }
        if isStream {
            // Nothing may follow a request whose answer is a stream: the connection ends with it.
            if bytes.count - start > server.limits.pipelinedBytes { cut(on: loop) }
            return
        }
        pipelined.append(copying: bytes, from: start)
        if pipelined.count > server.limits.pipelinedBytes, !isPaused {
            isPaused = true
            stream.pauseInput(on: loop)
        }
    }

    func work(through bytes: Span<UInt8>, on loop: isolated EventLoop) {
        beginGathering()
        var offset = 0
        do throws(HTTP1ParseError) {
            parsing: while ending == .keepAlive || ending == .closeAfterAnswer {
                switch try parser.next(in: bytes, from: &offset) {
                case .needMore:
                    break parsing
                case .head:
                    begin(on: loop)
                    if isDeferred {
                        keep(bytes, from: offset, on: loop)
                        break parsing
                    }
                case .body(let range):
                    if isBodyWanted { exchange?.body.append(copying: bytes.extracting(range), from: 0) }
                case .end:
                    guard finishRequest(on: loop), !chokes(on: loop), !yields(bytes.count - offset, on: loop) else {
                        keep(bytes, from: offset, on: loop)
                        break parsing
                    }
                }
            }
        } catch {
            refuse(error, on: loop)
        }
        endGathering(on: loop)
        updateDeadline(on: loop)
    }

    /// The head is there: the responder looks at it before any of the body is taken.
    private func begin(on loop: isolated EventLoop) {
        server.counters.requestsHTTP1 += 1
        // The next head's time starts with its own first byte.
        phase = nil
        if !parser.framing.keepAlive || server.isDraining { ending = .closeAfterAnswer }
        let exchange = Exchange(
            head: parser.head,
            repeatsLast: parser.repeatsLast,
            connection: connection.info,
            number: server.nextRequestNumber(),
            sink: self,
            on: loop
        )
        self.exchange = exchange
        isBodyWanted = true
        switch server.responder.admit(exchange, on: loop) {
        case .answered: isBodyWanted = false
        case .takes(let limit): takeBody(upTo: limit, on: loop)
        case .later: isDeferred = exchange.isOpen
        }
    }

    private func takeBody(upTo limit: Int, on loop: isolated EventLoop) {
        parser.bodyLimit = limit
        // A body that says itself that it is too large is not asked for.
        if case .length(let length) = parser.framing.body, length > limit { return }
        if parser.framing.expectsContinue { out.append(contentsOf: HTTP1Encoder.continueResponse) }
    }

    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {
        guard self.exchange === exchange, isDeferred else { return }
        isDeferred = false
        beginGathering()
        takeBody(upTo: bodyBytes, on: loop)
        resume(on: loop)
    }

    /// True when the next request may be looked at.
    private func finishRequest(on loop: isolated EventLoop) -> Bool {
        if let exchange, exchange.isOpen { server.responder.respond(to: exchange, on: loop) }
        guard exchange == nil, ending == .keepAlive else { return false }
        parser.startNext(keepingHead: true)
        return true
    }

    /// Sends what was gathered once it is much, and stops when the peer does not take it.
    private func chokes(on loop: isolated EventLoop) -> Bool {
        guard out.count > Self.outputBytes else { return false }
        flushGathered(on: loop)
        isChoked = stream.waitingBytes > Self.outputBytes
        return isChoked
    }

    /// One read may hold a thousand requests: others must not wait for all of them.
    private func yields(_ rest: Int, on loop: isolated EventLoop) -> Bool {
        guard rest > 0, loop.isTurnLong else { return false }
        isYielding = true
        loop.yield(self)
        return true
    }

    func goOn(on loop: isolated EventLoop) {
        isYielding = false
        resume(on: loop)
    }

    func receivedEnd(on loop: isolated EventLoop) {
        inputEnded = true
        guard ending == .keepAlive || ending == .closeAfterAnswer else { return }
        if isStream || exchange?.endsWithPeer == true { return cut(on: loop) }
        // What came whole is still answered.
        if isChoked || isYielding || isDeferred || (exchange != nil && parser.isEnded) { return }
        finishInput(on: loop)
    }

    func finishInput(on loop: isolated EventLoop) {
        if exchange == nil, parser.isIdle { return close(on: loop) }
        refuse(.endedEarly, on: loop)
    }
}
