import Basics
import EventLoops
import HTTP2
import HTTPModel

/// HTTP/2 on one connection: many exchanges at once, each on its own stream.
final class HTTP2Connection: WireProtocol, YieldedWork {
    /// The most output handed to the socket at a time. The rest stays in the session, where flow control counts it.
    private static let outputBytes = 256 << 10

    /// Strong, like each stream's reference to this connection, so that work that finds the socket dead can still
    /// finish. `closed` breaks the cycle.
    private let connection: HTTPConnection
    private let session: HTTP2Session
    /// Sorted by ID, which is also the order of the requests.
    private var streams: [HTTP2Stream] = []
    /// The stream of the last request, because most of the next events belong to it.
    private var recent: HTTP2Stream?
    private var isWorking = false
    private var isClosing = false
    private var isPaused = false
    /// The connection yielded: remaining events wait for a later turn, and none is handled before.
    private var isYielding = false
    /// More input arrived while the connection yielded, so reading pauses.
    private var hasMore = false
    /// The peer has ended its direction; requests that arrived before are still answered.
    private var inputEnded = false
    private var isClosed = false
    private var countedErrors: UInt64 = 0
    /// `takenBytes` of the socket when the current stall deadline began.
    private var takenAtWatch: UInt64?
    /// True while the deadline limits a head, counted from the head's start.
    private var watchesHead = false
    /// The reason why this connection is refused service.
    private var refusal: Problem?

    var server: HTTPServer { connection.server }
    private var socket: StreamConnection { connection.stream }

    static func make(for connection: HTTPConnection, on loop: isolated EventLoop) -> HTTP2Connection? {
        guard let session = try? HTTP2Session(limits: connection.server.limits.http2) else { return nil }
        let made = HTTP2Connection(connection, session)
        made.work(on: loop)
        made.updateDeadline(on: loop)
        return made
    }

    private init(_ connection: HTTPConnection, _ session: HTTP2Session) {
        self.connection = connection
        self.session = session
    }

    // MARK: Input

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        do throws(HTTP2Error) {
            try session.receive(bytes, now: loop.now)
        } catch {
            server.counters.refused["HTTP2_\(error == .badPreface ? "badPreface" : "broken")", default: 0] += 1
            return socket.close(on: loop)
        }
        hasMore = isYielding
        work(on: loop)
        updateDeadline(on: loop)
    }

    /// Handles all events, then writes all resulting output at once. Writing may produce new events.
    func work(on loop: isolated EventLoop) {
        guard !isWorking, !isClosed else { return }
        isWorking = true
        repeat {
            while !isYielding, let event = session.nextEvent() {
                let isEnd = if case .end = event { true } else { false }
                take(event, on: loop)
                if isEnd, session.hasEvents { yieldIfLong(on: loop) }
            }
        } while write(on: loop) && !yieldIfLong(on: loop)
        isWorking = false
        countStreamErrors()
        guard !isClosed else { return }
        balance(on: loop)
        if !isYielding, isClosing || session.isFinished { socket.closeWhenSent(on: loop) }
    }

    /// One read may hold a hundred requests for large pages, so a long turn is split to let other connections run.
    @discardableResult
    private func yieldIfLong(on loop: isolated EventLoop) -> Bool {
        if !isYielding, session.hasEvents || session.hasOutput, loop.isTurnLong {
            isYielding = true
            loop.yield(self)
        }
        return isYielding
    }

    func goOn(on loop: isolated EventLoop) {
        isYielding = false
        hasMore = false
        work(on: loop)
        if inputEnded, !isYielding { return socket.close(on: loop) }
        updateDeadline(on: loop)
    }

    private func countStreamErrors() {
        let fresh = session.streamErrors - countedErrors
        guard fresh > 0 else { return }
        countedErrors += fresh
        server.counters.refused["HTTP2_streamError", default: 0] += fresh
    }

    /// Stops reading from a peer that sends requests without reading the answers, or sends more than its share.
    private func balance(on loop: isolated EventLoop) {
        let isFull = hasMore || socket.waitingBytes >= Self.outputBytes
        guard isFull != isPaused else { return }
        isPaused = isFull
        if isFull { socket.pauseInput(on: loop) } else { socket.resumeInput(on: loop) }
    }

    private func take(_ event: consuming HTTP2Event, on loop: isolated EventLoop) {
        switch consume event {
        case .request(let id, let head, let ends): begin(id, head, ends: ends, on: loop)
        case .refused(let id, let refusal): refuse(id, Problem(refusal), on: loop)
        case .data(let id, let bytes): stream(id)?.received(bytes, on: loop)
        case .end(let id): stream(id)?.requestEnded(on: loop)
        case .drained(let id): stream(id)?.drained(on: loop)
        case .closed(let id, _):
            let stream = stream(id)
            if stream != nil { streams.remove(at: place(of: id)) }
            if recent?.id == id { recent = nil }
            stream?.closed(on: loop)
            // Not before the refusal has been sent, because clients take GOAWAY as the end.
            if refusal != nil { session.finishDrain() }
        case .failed(let code, let abuse):
            server.counters.refused["HTTP2_\(abuse.map { "\($0)" } ?? "\(code)")", default: 0] += 1
            isClosing = true
        case .goingAway: break
        }
    }

    private func stream(_ id: HTTP2StreamID) -> HTTP2Stream? {
        if let recent, recent.id == id { return recent }
        let place = place(of: id)
        return place < streams.count && streams[place].id == id ? streams[place] : nil
    }

    /// The stream's index, or the index at which it would be inserted.
    private func place(of id: HTTP2StreamID) -> Int { streams.partitioningIndex { $0.id >= id } }

    private func begin(_ id: HTTP2StreamID, _ head: consuming RequestHead, ends: Bool, on loop: isolated EventLoop) {
        if let refusal {
            return refuse(id, refusal, on: loop)
        }
        // Checked before any other work: a peer that leaves its answers unread gets no further ones.
        if session.waitingBytes > server.limits.answerBytes { return dropAnswer(on: id, .refusedStream) }
        server.counters.requestsHTTP2 += 1
        let stream = HTTP2Stream(id, of: self)
        streams.append(stream)
        recent = stream
        let exchange = Exchange(
            head: head,
            connection: connection.info,
            number: server.nextRequestNumber(),
            sink: stream,
            on: loop
        )
        stream.exchange = exchange
        switch server.responder.admit(exchange, on: loop) {
        case .answered: stream.isBodyWanted = false
        case .takes(let limit):
            stream.takeBody(upTo: limit, ends: ends, on: loop)
        case .later:
            stream.isDeferred = exchange.isOpen
        }
    }

    func receivedEnd(on loop: isolated EventLoop) {
        inputEnded = true
        if !isYielding { socket.close(on: loop) }
    }

    // MARK: Output

    /// Flushes now. During `work` nothing is done here, because `work` flushes at its end.
    func flushSoon(on loop: isolated EventLoop) {
        if !isWorking { work(on: loop) }
    }

    /// True if bytes were written. Output above the limit stays in the session, where flow control counts it.
    private func write(on loop: isolated EventLoop) -> Bool {
        guard !isClosed, session.hasOutput, socket.waitingBytes < Self.outputBytes else { return false }
        var out: [UInt8] = []
        server.lendBuffer(to: &out)
        defer { server.takeBack(&out) }
        do throws(HTTP2Error) {
            try session.takeOutput(into: &out, limit: Self.outputBytes, now: loop.now)
        } catch {
            socket.close(on: loop)
            return false
        }
        guard !out.isEmpty else { return false }
        let outcome = socket.send(out, on: loop)
        switch outcome {
        case .sent, .queued: return true
        case .closed: return false
        case .overflow:
            socket.close(on: loop)
            return false
        }
    }

    func drained(on loop: isolated EventLoop) {
        work(on: loop)
        updateDeadline(on: loop)
    }

    // MARK: Answers

    func inviteBody(of exchange: Exchange, on id: HTTP2StreamID, loop: isolated EventLoop) {
        guard exchange.head.fields.has(.expect, token: "100-continue") else { return }
        session.inform(id, ResponseHead(.continue))
        flushSoon(on: loop)
    }

    func send(_ response: Response, to exchange: Exchange?, on id: HTTP2StreamID, loop: isolated EventLoop) {
        if let exchange, ContentCoding.concerns(response, from: server.limits.compressFrom) {
            var coded = response
            ContentCoding.apply(to: &coded, accepted: exchange.head)
            return sendWhole(coded, to: exchange, on: id, loop: loop)
        }
        sendWhole(response, to: exchange, on: id, loop: loop)
    }

    func dropAnswer(on id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        server.counters.refused["HTTP2_unreadAnswers", default: 0] += 1
        session.reset(id, code)
    }

    private func sendWhole(
        _ response: Response,
        to exchange: Exchange?,
        on id: HTTP2StreamID,
        loop: isolated EventLoop
    ) {
        // There was room when the page was requested, but other answers were queued first.
        if session.waitingBytes > server.limits.answerBytes {
            dropAnswer(on: id, .enhanceYourCalm)
            return flushSoon(on: loop)
        }
        let status = response.head.status
        let hasBody = !response.body.isEmpty && exchange?.method != .head && !status.forbidsBody
        session.respond(
            id,
            response.head,
            length: status.forbidsContentLength ? nil : response.body.count,
            common: server.commonHTTP2(on: loop),
            end: !hasBody
        )
        if hasBody { session.send(response.body, on: id, end: true) }
        flushSoon(on: loop)
    }

    func begin(_ head: ResponseHead, on id: HTTP2StreamID, loop: isolated EventLoop) {
        session.respond(id, head, common: server.commonHTTP2(on: loop), end: false)
        flushSoon(on: loop)
    }

    func write(_ bytes: [UInt8], on id: HTTP2StreamID, end: Bool, loop: isolated EventLoop) {
        session.send(bytes, on: id, end: end)
        flushSoon(on: loop)
    }

    var isBehind: Bool { session.waitingBytes + socket.waitingBytes > Self.outputBytes }

    func pendingBytes(on id: HTTP2StreamID) -> Int { session.pendingBytes(on: id) }

    func consume(_ count: Int, on id: HTTP2StreamID) { session.consume(count, on: id) }

    func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode, on loop: isolated EventLoop) {
        session.reset(id, code)
        flushSoon(on: loop)
    }

    // MARK: Ending

    /// The time between the two GOAWAY frames of a drain: longer than a round trip on any usable path.
    private static let drainMilliseconds: Int64 = 500

    /// While a stream or output is open, the peer is checked at each stall deadline; new input does not postpone the
    /// check.
    func updateDeadline(on loop: isolated EventLoop) {
        guard !isClosed else { return }
        if socket.waitingBytes > 0 || !streams.isEmpty || isYielding {
            watchesHead = false
            guard takenAtWatch == nil else { return }
            takenAtWatch = socket.takenBytes
            return connection.setDeadline(server.limits.stallMilliseconds, on: loop)
        }
        takenAtWatch = nil
        let limits = server.limits
        let isHead = session.isHeadOpen || refusal != nil
        // More bytes of the same head do not extend its deadline.
        if isHead, watchesHead { return }
        watchesHead = isHead
        connection.setDeadline(isHead ? limits.headMilliseconds : limits.idleMilliseconds, on: loop)
    }

    func deadlinePassed(on loop: isolated EventLoop) {
        if socket.waitingBytes > 0, takenAtWatch == socket.takenBytes {
            server.counters.stalled += 1
            return socket.close(on: loop)
        }
        takenAtWatch = nil
        watchesHead = false
        if isYielding {
            // The delay is ours, not the peer's.
        } else if socket.waitingBytes == 0, streams.isEmpty {
            session.terminate(.noError)
            isClosing = true
        } else {
            // Resets streams whose peer keeps the window shut, and checks bodies that arrive too slowly.
            let patience = UInt64(clamping: server.limits.stallMilliseconds) &* 1_000_000
            for id in session.stalledStreams(for: patience, now: loop.now) {
                server.counters.stalled += 1
                session.reset(id, .enhanceYourCalm)
            }
            for stream in streams { stream.checkBody(on: loop) }
            session.endLingering(below: server.limits.bodyBytesPerSecond * Int(server.limits.stallMilliseconds / 1000))
        }
        work(on: loop)
        updateDeadline(on: loop)
    }

    /// Refuses the connection: its first request is answered with the problem.
    func refuse(_ problem: Problem, on loop: isolated EventLoop) {
        refusal = problem
        updateDeadline(on: loop)
    }

    func refuse(_ id: HTTP2StreamID, _ problem: Problem, on loop: isolated EventLoop) {
        let requestID = RequestID.text(server.nextRequestNumber())
        server.counters.refused[problem.code.rawValue, default: 0] += 1
        server.responder.refused(problem, requestID: requestID, connection: connection.info, on: loop)
        send(problem.response(requestID: requestID), to: nil, on: id, loop: loop)
    }

    func drain(on loop: isolated EventLoop) {
        session.beginDrain()
        work(on: loop)
        loop.after(milliseconds: Self.drainMilliseconds) { [weak self] in
            guard let self else { return }
            self.session.finishDrain()
            self.work(on: loop)
        }
    }

    func closed(on loop: isolated EventLoop) {
        isClosed = true
        let all = streams
        streams = []
        recent = nil
        for stream in all { stream.closed(on: loop) }
    }
}
