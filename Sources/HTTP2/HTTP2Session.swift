/// The server's side of one HTTP/2 connection as bytes in, events out, and bytes out; the socket is the caller's.
///
/// Belongs to its connection, on one loop. `receive` and `takeOutput` leave events to be taken. Times are monotonic
/// nanoseconds. Calls for a stream that is gone do nothing: the peer may reset one at any time.
package final class HTTP2Session {
    enum Afterwards {
        case reset(HTTP2StreamID, HTTP2ErrorCode)
        case consume(Int)
    }

    let handle: SessionHandle
    let limits: HTTP2Limits
    private var scanner: FrameScanner
    private var forcedResets: TokenBucket
    var streams = StreamTable()
    /// How many streams have bytes to send.
    var waiting = 0
    /// Body bytes of all streams that are in no output yet.
    package internal(set) var waitingBytes = 0
    /// The request head whose block is arriving; blocks never interleave (RFC 9113 §4.3).
    var builder: HeadBuilder
    var block = ResponseBlock()
    var highestStream: HTTP2StreamID = 0
    var events = EventQueue()
    /// What callbacks found necessary; they must not call into the library themselves.
    var afterwards: [Afterwards] = []
    var resetsToCount = 0
    var sawHeadBomb = false
    private var abuse: HTTP2Abuse?
    private var hasReportedFailure = false
    /// The library can do nothing more; what is left to send is `farewell`.
    private var isBroken = false
    private var farewell: [UInt8] = []

    /// Streams that were reset for a fault of the peer's.
    package internal(set) var streamErrors: UInt64 = 0

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

    /// The peer is in the middle of a head, or has yet to say that it speaks HTTP/2 at all.
    package var isHeadOpen: Bool { scanner.isHeadOpen }

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

    // MARK: The connection

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

    func report(_ code: HTTP2ErrorCode) {
        guard !hasReportedFailure else { return }
        hasReportedFailure = true
        events.append(.failed(code, abuse))
    }
}
