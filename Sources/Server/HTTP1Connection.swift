import EventLoops
import HTTP1
import HTTPModel

/// HTTP/1.1 on one connection: requests one at a time, answers in order, at most one open exchange.
final class HTTP1Connection: WireProtocol, ExchangeSink, YieldedWork {
    private enum Ending {
        case keepAlive
        /// The connection closes after the current answer.
        case closeAfterAnswer
        /// The last answer has been given; no more input is read from the peer.
        case answered
        case closing
    }

    /// The peer's next expected step, which sets its deadline.
    private enum Phase {
        case idle, head, body, answer, output
    }

    /// Above this many unread answer bytes the peer's next request must wait. Also the most bytes gathered into one
    /// write.
    private static let outputBytes = 256 << 10

    /// Strong, so that a write that finds the peer gone can still finish its work here; `closed` breaks the cycle.
    private let connection: HTTPConnection
    private let server: HTTPServer
    private let stream: StreamConnection
    private var parser: HTTP1Parser
    private var exchange: Exchange?
    /// Bytes that arrived while an answer was open.
    private var pipelined: [UInt8] = []
    /// Gathers the answers made during one pass over the input, so that they leave in one write.
    private var out: [UInt8] = []
    private var takenAtWatch: UInt64 = 0
    private var isPaused = false
    /// The exchange waits for its admission.
    private var isDeferred = false
    /// Too much output waits for the peer.
    private var isChoked = false
    /// The bytes in `pipelined` wait for a later turn.
    private var isYielding = false
    private var inputEnded = false
    private var isBodyWanted = true
    private var isGathering = false
    private var ending = Ending.keepAlive
    private var phase: Phase?
    /// The body of the open answer, if that is a stream.
    private var body: StreamBody?
    private var isStream: Bool { body != nil }
    /// Of the answers that the peer has not read whole, and of the one that is still to be given.
    private var unread: [HeldBytes.Share] = []
    private var reserved: [HeldBytes.Share] = []

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
            // The connection ends with a stream, so no request may follow one that is answered by a stream.
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
                    guard isBodyWanted, let exchange else { break }
                    if !server.takeBody(bytes.extracting(range), of: exchange) { refuse(.unfinishedBodies, on: loop) }
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

    /// The head is complete: the responder checks it before any body is read.
    private func begin(on loop: isolated EventLoop) {
        server.counters.requestsHTTP1 += 1
        // The time limit for the next head starts with that head's first byte.
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
        // A body whose stated length is too large gets no `100 Continue`.
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

    /// True if the next request may be processed.
    private func finishRequest(on loop: isolated EventLoop) -> Bool {
        if let exchange, exchange.isOpen { server.responder.respond(to: exchange, on: loop) }
        guard exchange == nil, ending == .keepAlive else { return false }
        parser.startNext(keepingHead: true)
        return true
    }

    /// Sends the gathered output once it is large. True if the peer does not read it and input must stop.
    private func chokes(on loop: isolated EventLoop) -> Bool {
        guard out.count > Self.outputBytes else { return false }
        flushGathered(on: loop)
        isChoked = stream.waitingBytes > Self.outputBytes
        return isChoked
    }

    /// One read may hold a thousand requests, so a long turn is split to let other connections run.
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
        // Requests that arrived completely are still answered.
        if isChoked || isYielding || isDeferred || (exchange != nil && parser.isEnded) { return }
        finishInput(on: loop)
    }

    func finishInput(on loop: isolated EventLoop) {
        if exchange == nil, parser.isIdle { return close(on: loop) }
        refuse(.endedEarly, on: loop)
    }

    // MARK: Answers

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange, ending != .closing else { return }
        // The rest of an unwanted body must not be read as the next request.
        if response.closes || isDeferred || !(parser.isEnded || parser.framing.body == .none) {
            ending = .closeAfterAnswer
        }
        let isGathered = isGathering
        if !isGathered { beginGathering() }
        AnswerWriter.append(
            response,
            to: exchange,
            keepAlive: ending == .keepAlive,
            server: server,
            into: &out,
            on: loop
        )
        answered(exchange, on: loop)
        if ending == .closeAfterAnswer { ending = .answered }
        guard !isGathered else { return }
        endGathering(on: loop)
        guard ending == .keepAlive else { return }
        parser.startNext(keepingHead: false)
        resume(on: loop)
    }

    func hold(_ bytes: Int, for exchange: Exchange) -> Bool {
        guard let share = server.unread.take(bytes, for: server.responder.holder(of: exchange)) else { return false }
        reserved.append(share)
        return true
    }

    /// The peer has read all answers, or has gone.
    private func releaseUnread() {
        guard !unread.isEmpty else { return }
        for share in unread { server.unread.giveBack(share) }
        unread = []
    }

    func answered(_ exchange: Exchange, on loop: isolated EventLoop) {
        self.exchange = nil
        if !reserved.isEmpty {
            unread += reserved
            reserved = []
        }
        isDeferred = false
        if isStream { server.counters.openStreams -= 1 }
        body = nil
        server.finished(exchange, on: loop)
    }

    /// Processes the waiting input, as far as possible.
    func resume(on loop: isolated EventLoop) {
        let bytes = pipelined
        pipelined = []
        work(through: bytes.span, on: loop)
        guard ending == .keepAlive || ending == .closeAfterAnswer else { return }
        guard !isDeferred, !isChoked, !isYielding, !isStream else { return }
        if isPaused, pipelined.count <= server.limits.pipelinedBytes {
            isPaused = false
            stream.resumeInput(on: loop)
        }
        if inputEnded, exchange == nil || !parser.isEnded { finishInput(on: loop) }
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        // The connection ends with the body even so. Chunks help clients such as Python's requests: they read a body
        // without chunks in blocks of fixed size, so an event would wait until later events fill the block.
        ending = .closeAfterAnswer
        let body = StreamBody(of: exchange, head)
        self.body = body
        pipelined = []
        exchange.connection.memo = nil
        server.releaseBody(of: exchange)
        server.counters.openStreams += 1
        let isGathered = isGathering
        if !isGathered { beginGathering() }
        AnswerWriter.appendStreamHead(head, isChunked: body.isChunked, server: server, into: &out, on: loop)
        parser.releaseHead()
        // With input paused, the end of the connection would go unnoticed.
        if isPaused {
            isPaused = false
            stream.resumeInput(on: loop)
        }
        guard !isGathered else { return }
        endGathering(on: loop)
        updateDeadline(on: loop)
    }

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        guard self.exchange === exchange, let body else { return .gone }
        if let room = body.roomNeeded(for: bytes.count), !isGathering, !stream.hasRoom(for: room) { return .full }
        var encoded: [UInt8] = []
        body.append(bytes, to: &encoded)
        return pass(encoded.span, on: loop)
    }

    func directTarget(for exchange: Exchange) -> SharedBytesTarget? {
        body?.sharedForm.map { SharedBytesTarget($0, to: stream) }
    }

    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {
        if self.exchange === exchange { updateDeadline(on: loop) }
    }

    private func pass(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        if isGathering {
            out.append(copying: bytes, from: 0)
            return .written
        }
        let outcome = stream.take(bytes, on: loop)
        if case .waiting = outcome { updateDeadline(on: loop) }
        return outcome
    }

    func end(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        var rest: [UInt8] = []
        body?.appendEnd(to: &rest)
        if !rest.isEmpty { _ = pass(rest.span, on: loop) }
        // If `pass` finds the peer gone, it has already ended the exchange.
        guard self.exchange === exchange else { return }
        answered(exchange, on: loop)
        ending = .answered
        if !isGathering { close(on: loop) }
    }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        answered(exchange, on: loop)
        cut(on: loop)
    }

    func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange, inputEnded else { return }
        // Earlier answers of the same turn still belong to the peer, so they are sent first.
        if isGathering { flushGathered(on: loop) }
        cut(on: loop)
    }

    func waitingBytes(of exchange: Exchange) -> Int {
        self.exchange === exchange ? stream.waitingBytes : 0
    }

    /// HTTP/1 has only one answer open at a time.
    func isBehind(_ exchange: Exchange) -> Bool { false }

    func limitWaiting(to bytes: Int, for exchange: Exchange) {
        if self.exchange === exchange { stream.sendLimit = bytes }
    }

    func drained(on loop: isolated EventLoop) {
        if phase == .output { phase = nil }
        releaseUnread()
        updateDeadline(on: loop)
        if isStream { exchange?.outputDrained(on: loop) }
        guard isChoked else { return }
        isChoked = false
        resume(on: loop)
    }

    // MARK: Output

    func beginGathering() {
        isGathering = true
        server.lendBuffer(to: &out)
    }

    func endGathering(on loop: isolated EventLoop) {
        isGathering = false
        flushGathered(on: loop)
        if ending == .answered { close(on: loop) }
    }

    func flushGathered(on loop: isolated EventLoop) {
        guard !out.isEmpty else { return server.takeBack(&out) }
        // Moved out of `self` first, because `send` ends the exchange if the peer is gone.
        var bytes: [UInt8] = []
        swap(&bytes, &out)
        let outcome = stream.send(bytes.span, on: loop)
        server.takeBack(&bytes)
        if outcome == .overflow { return cut(on: loop) }
        if stream.waitingBytes == 0 { releaseUnread() }
    }

    func close(on loop: isolated EventLoop) {
        guard ending != .closing else { return }
        ending = .closing
        phase = .output
        takenAtWatch = stream.takenBytes
        connection.setDeadline(server.limits.stallMilliseconds, on: loop)
        stream.closeWhenSent(on: loop)
    }

    func cut(on loop: isolated EventLoop) {
        ending = .closing
        stream.close(on: loop)
    }

    // MARK: Ending

    func refuse(_ error: HTTP1ParseError, on loop: isolated EventLoop) {
        // A peer that starts with such bytes could not read an HTTP/1 answer. For an HTTP/2 client closing is a valid
        // answer (RFC 9113 §3.4).
        let isAnswered = error != .notHTTP || stream.takenBytes > 0 || !out.isEmpty
        refuse(Problem(error), isAnswered: isAnswered, on: loop)
    }

    func refuse(_ problem: Problem, on loop: isolated EventLoop) {
        refuse(problem, isAnswered: true, on: loop)
    }

    private func refuse(_ problem: Problem, isAnswered: Bool, on loop: isolated EventLoop) {
        guard ending == .keepAlive || ending == .closeAfterAnswer else { return }
        let last = exchange
        let number = last?.number ?? server.nextRequestNumber()
        server.counters.refused[problem.code.rawValue, default: 0] += 1
        server.responder.refused(
            problem,
            requestID: RequestID.text(number),
            connection: connection.info,
            on: loop
        )
        let wasStream = isStream
        if let last {
            last.peerLeft(on: loop)
            answered(last, on: loop)
        }
        if wasStream { return cut(on: loop) }
        if !isAnswered { return close(on: loop) }
        ending = .answered
        let isGathered = isGathering
        if !isGathered { beginGathering() }
        AnswerWriter.append(
            last?.response(to: problem) ?? problem.response(requestID: RequestID.text(number)),
            to: nil,
            keepAlive: false,
            server: server,
            into: &out,
            on: loop
        )
        if !isGathered { endGathering(on: loop) }
    }

    func deadlinePassed(on loop: isolated EventLoop) {
        if phase == .output {
            // A slow peer is not stalled: only a peer that has taken no byte since the last check is closed.
            guard stream.takenBytes == takenAtWatch else {
                takenAtWatch = stream.takenBytes
                return connection.setDeadline(server.limits.stallMilliseconds, on: loop)
            }
            server.counters.stalled += 1
            return cut(on: loop)
        }
        if parser.isIdle || parser.isEnded || isDeferred { return cut(on: loop) }
        if let exchange, server.limits.isOnTime(exchange, on: loop) {
            return connection.setDeadline(1000, on: loop)
        }
        refuse(
            Problem(
                .requestTimeout,
                exchange == nil
                    ? "The head of the request did not arrive within \(server.limits.headMilliseconds / 1000) s."
                    : "The body arrived slower than \(server.limits.bodyBytesPerSecond) bytes a second."
            ),
            on: loop
        )
    }

    /// The deadline depends on the expected step, and restarts only when that step changes.
    func updateDeadline(on loop: isolated EventLoop) {
        guard ending != .closing else { return }
        let now: Phase =
            if stream.waitingBytes > 0 {
                .output
            } else if isYielding {
                .answer
            } else if exchange == nil {
                parser.isIdle ? .idle : .head
            } else {
                parser.isEnded || isDeferred || isStream ? .answer : .body
            }
        guard now != phase || now == .idle else { return }
        phase = now
        switch now {
        case .idle: connection.setDeadline(server.limits.idleMilliseconds, on: loop)
        case .head: connection.setDeadline(server.limits.headMilliseconds, on: loop)
        case .body: connection.setDeadline(server.limits.bodyGraceMilliseconds, on: loop)
        // The server must answer now, so the peer has no deadline.
        case .answer: connection.setDeadline(nil, on: loop)
        case .output:
            takenAtWatch = stream.takenBytes
            connection.setDeadline(server.limits.stallMilliseconds, on: loop)
        }
    }

    func drain(on loop: isolated EventLoop) {
        if exchange == nil, parser.isIdle, !isChoked, !isYielding { return close(on: loop) }
        if ending == .keepAlive { ending = .closeAfterAnswer }
    }

    func closed(on loop: isolated EventLoop) {
        ending = .closing
        if let last = exchange {
            last.peerLeft(on: loop)
            answered(last, on: loop)
        }
        releaseUnread()
    }
}
