import Basics

/// The server's side of one HTTP/2 connection: bytes in, events out, bytes out. The caller owns the socket.
///
/// Belongs to its connection, on one loop. After `receive` and `takeOutput` the caller takes the new events. Times are
/// monotonic nanoseconds. Calls for a stream that is gone do nothing, because the peer may reset a stream at any time.
package final class HTTP2Session {
    enum Afterwards {
        case reset(HTTP2StreamID, HTTP2ErrorCode)
        case consume(HTTP2StreamID, Int)
        /// For a stream that is gone or goes.
        case consumeForConnection(Int)
    }

    let handle: SessionHandle
    let limits: HTTP2Limits
    private var scanner: FrameScanner
    private var forcedResets: TokenBucket
    var streams = StreamTable()
    /// The number of streams with bytes to send.
    var waiting = 0
    /// Body bytes of all streams not yet taken as output.
    package internal(set) var waitingBytes = 0
    /// The request head whose block is arriving. Blocks never interleave (RFC 9113 §4.3).
    var builder: HeadBuilder
    var block = ResponseBlock()
    var highestStream: HTTP2StreamID = 0
    var events = EventQueue()
    /// Actions that callbacks requested; a callback must not call the library itself.
    var afterwards: [Afterwards] = []
    var resetsToCount = 0
    var sawHeadBomb = false
    private var abuse: HTTP2Abuse?
    private var hasReportedFailure = false
    /// The library cannot be used any more; only `farewell` is left to send.
    private var isBroken = false
    private var farewell: [UInt8] = []

    /// Streams that were reset because the peer made a mistake.
    package internal(set) var streamErrors: UInt64 = 0

    package init(limits: HTTP2Limits = .standard) throws(HTTP2Error) {
        self.limits = limits
        scanner = FrameScanner(limits: limits)
        forcedResets = limits.forcedResets
        builder = HeadBuilder(limits: limits)
        handle = try SessionHandle(limits: limits)
        handle.attach(self)
        handle.submitSettings(limits)
    }

    /// Requests that are open now.
    package var openStreams: Int { streams.all.count }

    /// The peer is in the middle of a head, or has not finished the HTTP/2 preface.
    package var isHeadOpen: Bool { scanner.isHeadOpen }

    /// Whether `takeOutput` may have bytes to give.
    package var hasOutput: Bool { isBroken ? !farewell.isEmpty : handle.wantsWrite }

    /// Both directions are finished: close the socket.
    package var isFinished: Bool { isBroken ? farewell.isEmpty : !handle.wantsRead && !handle.wantsWrite }

    // MARK: Bytes

    /// Takes bytes from the socket, including the preface, even after `HTTP2Preface` has examined it.
    ///
    /// Throws if a GOAWAY is impossible, so that the caller can only close the socket. After a peer's breach of the
    /// protocol there is a `failed` event instead and a GOAWAY in the output; further input is ignored.
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

    /// The next event, in order of occurrence.
    package func nextEvent() -> HTTP2Event? { events.next() }

    /// Appends output until it has reached `limit` bytes or none is left. Frames are not cut, so the last one may
    /// exceed the limit.
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
        if output.count > start { scanner.sent(output.count - start) }
        if waiting > 0 {
            for state in streams.all where !state.pending.isEmpty { state.hasWaited = true }
        }
        output.append(contentsOf: farewell)
        farewell = []
    }

    // MARK: The connection

    /// Sends the first GOAWAY of a drain: it asks for no new streams; requests in progress are still served (RFC 9113
    /// §6.8).
    package func beginDrain() {
        guard !isBroken else { return }
        handle.announceShutdown()
    }

    /// Sends the second GOAWAY, a round trip later: newer streams are not served. `isFinished` follows the last answer.
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

    /// After an error the library must not be used again, so Ladle writes the GOAWAY frame itself.
    private func breakOff(_ error: HTTP2Error) throws(HTTP2Error) {
        isBroken = true
        guard error == .flooded else { throw error }
        abuse = .acknowledgements
        farewell = FrameHeader.goAway(last: highestStream, .enhanceYourCalm)
        report(.enhanceYourCalm)
    }

    /// Performs the actions that callbacks requested; false when there were none.
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
                case .consume(let stream, let count): handle.consume(stream, count)
                case .consumeForConnection(let count): handle.consumeForConnection(count)
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

    /// Called when the library has nothing more to send: the peer's windows hold back all bytes that still wait.
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
