package import HTTPModel

/// The server's side of one HTTP/2 connection as bytes in, events out, and bytes out; the socket is the caller's.
///
/// Belongs to its connection, on one loop. `receive` and `takeOutput` leave events to be taken. Times are monotonic
/// nanoseconds. Calls for a stream that is gone do nothing: the peer may reset one at any time.
package final class HTTP2Session {
    private enum Afterwards {
        case reset(HTTP2StreamID, HTTP2ErrorCode)
        case consume(Int)
    }

    private let handle: SessionHandle
    private let limits: HTTP2Limits
    private var scanner: FrameScanner
    private var forcedResets: TokenBucket
    private var streams = StreamTable()
    /// The stream of the last look-up: calls and callbacks come in runs for one.
    private var recent: StreamState?
    /// How many streams have bytes to send.
    private var waiting = 0
    /// Body bytes of all streams that are in no output yet.
    package private(set) var waitingBytes = 0
    /// The request head whose block is arriving; blocks never interleave (RFC 9113 §4.3).
    private var builder: HeadBuilder
    private var block = ResponseBlock()
    private var highestStream: HTTP2StreamID = 0
    private var events = EventQueue()
    /// What callbacks found necessary; they must not call into the library themselves.
    private var afterwards: [Afterwards] = []
    private var resetsToCount = 0
    private var sawHeadBomb = false
    private var abuse: HTTP2Abuse?
    private var hasReportedFailure = false
    /// The library can do nothing more; what is left to send is `farewell`.
    private var isBroken = false
    private var farewell: [UInt8] = []

    /// Streams that were reset for a fault of the peer's.
    package private(set) var streamErrors: UInt64 = 0

    package init(limits: HTTP2Limits = .standard) throws(HTTP2Error) {
        self.limits = limits
        scanner = FrameScanner(limits: limits)
        forcedResets = TokenBucket(limits.forcedResets)
        builder = HeadBuilder(limits: limits)
        handle = try SessionHandle(limits: limits)
        handle.attach(self)
        handle.submitSettings(limits)
    }

    /// Requests open now.
    package var openStreams: Int { streams.all.count }

    /// Whether `takeOutput` may have something to give.
    package var hasOutput: Bool { isBroken ? !farewell.isEmpty : handle.wantsWrite }

    /// Nothing more will come or go: close the socket.
    package var isFinished: Bool { isBroken ? farewell.isEmpty : !handle.wantsRead && !handle.wantsWrite }

    // MARK: Bytes

    /// Takes bytes from the socket, with the preface, also where `HTTP2Preface` has looked at it.
    ///
    /// Throws when there is nobody to explain things to: the socket can only be closed. A peer's breach of the protocol
    /// is an event instead, with GOAWAY in the output; input after that is ignored.
    package func receive(_ bytes: Span<UInt8>, now: UInt64) throws(HTTP2Error) {
        guard !isBroken, abuse == nil, handle.wantsRead else { return }
        let found = scanner.scan(bytes, now: now)
        if let error = handle.receive(found == nil ? bytes : bytes.extracting(first: found?.fed ?? 0)) {
            try breakOff(error)
            return
        }
        settle(now: now)
        switch found?.violation {
        case .limit(let kind): end(kind)
        case .skippedStream, .padding: handle.terminate(.protocolError)
        case .frameSize: handle.terminate(.frameSizeError)
        case nil: break
        }
    }

    package func receive(_ bytes: [UInt8], now: UInt64) throws(HTTP2Error) {
        try receive(bytes.span, now: now)
    }

    package var hasEvents: Bool { !events.isEmpty }

    /// The next of what has happened, in order.
    package func nextEvent() -> HTTP2Event? { events.next() }

    /// Appends output until it has reached `limit` bytes or there is no more. Frames are not cut, so one may pass the
    /// limit.
    package func takeOutput(into output: inout [UInt8], limit: Int = .max, now: UInt64) throws(HTTP2Error) {
        let start = output.count
        while !isBroken, output.count - start < limit {
            let more: Bool
            do {
                more = try handle.send(into: &output)
            } catch {
                isBroken = true
                throw error
            }
            let acted = settle(now: now)
            if !more, !acted {
                noteStalls(now: now)
                break
            }
        }
        if waiting > 0 {
            for state in streams.all where !state.pending.isEmpty { state.hasWaited = true }
        }
        output.append(contentsOf: farewell)
        farewell = []
    }

    // MARK: Answers

    /// Returns body bytes to the peer's window, once the application has used or stored them.
    package func consume(_ count: Int, on stream: HTTP2StreamID) {
        guard let state = state(of: stream), count > 0 else { return }
        let used = min(count, state.unconsumed)
        state.unconsumed -= used
        handle.consume(stream, used)
    }

    /// An interim head, such as 100 (RFC 9110 §15.2).
    package func inform(_ stream: HTTP2StreamID, _ head: ResponseHead) {
        guard let state = state(of: stream), !state.condemned, !state.responseStarted else { return }
        block.fill(head)
        handle.inform(stream, &block)
    }

    /// The head of the answer; with `end`, all of it.
    /// - Parameter length: the body's, where the head does not say it itself.
    package func respond(
        _ stream: HTTP2StreamID,
        _ head: ResponseHead,
        length: Int? = nil,
        common: HTTP2CommonFields? = nil,
        end: Bool
    ) {
        guard let state = state(of: stream), !state.condemned, !state.responseStarted else { return }
        state.responseStarted = true
        state.closing = end
        block.fill(head, length: length, common: common)
        handle.respond(stream, &block, hasBody: !end)
    }

    /// Queues body bytes behind what waits already; the array is kept, not copied. There is no limit here: see
    /// `pendingBytes`, and the `drained` event.
    /// - Returns: how many bytes wait on the stream now.
    @discardableResult
    package func send(_ bytes: [UInt8], on stream: HTTP2StreamID, end: Bool) -> Int {
        guard let state = state(of: stream), state.responseStarted, !state.closing, !state.condemned else { return 0 }
        let wasEmpty = state.pending.isEmpty
        state.pending.append(bytes)
        waitingBytes += bytes.count
        state.closing = end
        let count = state.pending.count
        if wasEmpty, count > 0 { waiting += 1 }
        if state.deferred, count > 0 || end {
            state.deferred = false
            handle.resume(stream)
        }
        return count
    }

    /// As above, with a copy of the bytes.
    @discardableResult
    package func send(copying bytes: Span<UInt8>, on stream: HTTP2StreamID, end: Bool) -> Int {
        send([UInt8](copying: bytes), on: stream, end: end)
    }

    /// Body bytes not yet in an output. Who is told that some wait is told by `drained` when none does any more.
    package func pendingBytes(on stream: HTTP2StreamID) -> Int {
        guard let state = state(of: stream), !state.pending.isEmpty else { return 0 }
        state.hasWaited = true
        return state.pending.count
    }

    package func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = state(of: stream), !state.condemned else { return }
        state.condemned = true
        state.resetByUs = true
        handle.reset(stream, code)
    }

    /// Streams whose bytes the peer's windows have kept back for at least `nanoseconds`: reset them, or close.
    package func stalledStreams(for nanoseconds: UInt64, now: UInt64) -> [HTTP2StreamID] {
        guard waiting > 0 else { return [] }
        return streams.all.compactMap { state in
            guard let since = state.stalledSince, !state.pending.isEmpty else { return nil }
            return now >= since && now - since >= nanoseconds ? state.id : nil
        }
    }

    // MARK: The connection

    package func ping() {
        guard !isBroken else { return }
        handle.ping()
    }

    /// The first GOAWAY of a drain: no new streams, please; those on their way are still served (RFC 9113 §6.8).
    package func beginDrain() {
        guard !isBroken else { return }
        handle.announceShutdown()
    }

    /// The second GOAWAY, a round trip later: streams after this are not served. `isFinished` follows the last answer.
    package func finishDrain() {
        guard !isBroken else { return }
        handle.goAway()
    }

    /// Ends the connection and every stream.
    package func terminate(_ code: HTTP2ErrorCode) {
        guard !isBroken else { return }
        handle.terminate(code)
    }

    // MARK: Private

    private func end(_ kind: HTTP2Abuse) {
        guard abuse == nil else { return }
        abuse = kind
        handle.terminate(.enhanceYourCalm)
    }

    /// After an error the library must not be used again, so the GOAWAY is our own.
    private func breakOff(_ error: HTTP2Error) throws(HTTP2Error) {
        isBroken = true
        guard error == .flooded else { throw error }
        abuse = .acknowledgements
        farewell = FrameHeader.goAway(last: highestStream, .enhanceYourCalm)
        report(.enhanceYourCalm)
    }

    /// Does what callbacks asked for; false when there was nothing.
    @discardableResult
    private func settle(now: UInt64) -> Bool {
        var acted = false
        while !afterwards.isEmpty {
            acted = true
            let actions = afterwards
            afterwards = []
            for action in actions {
                switch action {
                case .reset(let stream, let code): handle.reset(stream, code)
                case .consume(let count): handle.consumeForConnection(count)
                }
            }
        }
        while resetsToCount > 0 {
            resetsToCount -= 1
            if !forcedResets.take(now: now) { end(.forcedResets) }
        }
        if sawHeadBomb { end(.headBomb) }
        return acted
    }

    /// Called when the library has nothing more to send: what still waits is held by the peer's windows.
    private func noteStalls(now: UInt64) {
        guard waiting > 0 else { return }
        for state in streams.all where !state.pending.isEmpty && state.stalledSince == nil {
            state.stalledSince = now
            state.sentSinceStall = 0
        }
    }

    private func state(of stream: HTTP2StreamID) -> StreamState? {
        if let recent, recent.id == stream { return recent }
        guard let state = streams[stream] else { return nil }
        recent = state
        return state
    }

    private func condemn(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = state(of: stream), !state.condemned else { return }
        state.condemned = true
        afterwards.append(.reset(stream, code))
    }

    private func report(_ code: HTTP2ErrorCode) {
        guard !hasReportedFailure else { return }
        hasReportedFailure = true
        events.append(.failed(code, abuse))
    }

    // MARK: From the callbacks

    func beganHead(_ stream: HTTP2StreamID) {
        highestStream = max(highestStream, stream)
        let state = StreamState(stream)
        streams.insert(state)
        recent = state
        builder.begin(stream)
    }

    func gotField(_ stream: HTTP2StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard !sawHeadBomb else { return }
        switch builder.add(stream, name: name, value: value) {
        case .taken: break
        case .bomb: sawHeadBomb = true
        case .trailer:
            // Nothing here reads them, they only count.
            guard let state = state(of: stream) else { return }
            state.trailerBytes += name.count + value.count + 32
            if state.trailerBytes > limits.headBytes { condemn(stream, .enhanceYourCalm) }
        }
    }

    func gotInvalidField(_ stream: HTTP2StreamID) {
        condemn(stream, .protocolError)
    }

    func completedHead(_ stream: HTTP2StreamID, ends: Bool) {
        guard let state = state(of: stream), let built = builder.finish(stream) else { return }
        guard !state.condemned, !sawHeadBomb else { return }
        switch built {
        case .head(let head):
            state.announced = true
            events.append(.request(stream, head, end: ends))
        case .refused(let refusal):
            state.announced = true
            state.discardsBody = true
            events.append(.refused(stream, refusal))
        case .malformed:
            condemn(stream, .protocolError)
        }
    }

    func gotData(_ stream: HTTP2StreamID, _ bytes: [UInt8]) {
        guard let state = state(of: stream), state.announced, !state.condemned, !state.discardsBody else {
            afterwards.append(.consume(bytes.count))
            return
        }
        state.unconsumed += bytes.count
        events.append(.data(stream, bytes))
    }

    func requestEnded(_ stream: HTTP2StreamID) {
        guard let state = state(of: stream), !state.requestEnded else { return }
        state.requestEnded = true
        if state.announced, !state.condemned, !state.discardsBody { events.append(.end(stream)) }
    }

    func gotPong() {
        events.append(.pong)
    }

    func gotGoAway(_ code: HTTP2ErrorCode) {
        events.append(.goingAway(code))
    }

    /// The next bytes of a body, or nil to wait for `send`.
    @unsafe func nextBody(
        _ stream: HTTP2StreamID,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, isLast: Bool)? {
        guard let state = state(of: stream) else { return (0, true) }
        let count = unsafe state.pending.move(into: buffer)
        waitingBytes -= count
        let isLast = state.pending.isEmpty && state.closing
        if count == 0, !isLast {
            state.deferred = true
            return nil
        }
        state.sentSinceStall += count
        if state.pending.isEmpty, count > 0 { waiting -= 1 }
        if state.pending.isEmpty || state.sentSinceStall >= limits.stallProgressBytes { state.stalledSince = nil }
        if state.pending.isEmpty, state.hasWaited {
            state.hasWaited = false
            if !state.closing { events.append(.drained(stream)) }
        }
        return (count, isLast)
    }

    /// RFC 9113 §8.1: when the answer is complete and the request is not, its rest is not wanted.
    func responseEnded(_ stream: HTTP2StreamID) {
        guard let state = state(of: stream) else { return }
        if !state.requestEnded {
            state.resetByUs = true
            state.condemned = true
            afterwards.append(.reset(stream, .noError))
        }
    }

    func sentReset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        if state(of: stream)?.resetByUs == true { return }
        resetsToCount += 1
        streamErrors += 1
    }

    func sentGoAway(_ code: HTTP2ErrorCode) {
        if code != .noError { report(code) }
    }

    func closed(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = streams.remove(stream) else { return }
        if recent?.id == stream { recent = nil }
        if !state.pending.isEmpty { waiting -= 1 }
        waitingBytes -= state.pending.count
        if state.unconsumed > 0 { afterwards.append(.consume(state.unconsumed)) }
        if state.announced { events.append(.closed(stream, code)) }
    }
}
