/// The session's reactions to nghttp2's callbacks. No reaction calls the library: it queues the call in `afterwards`.
extension HTTP2Session {
    func beganHead(_ stream: HTTP2StreamID) {
        highestStream = max(highestStream, stream)
        streams.insert(StreamState(stream))
        builder.begin(stream)
    }

    func gotField(_ stream: HTTP2StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard !sawHeadBomb else { return }
        switch builder.add(stream, name: name, value: value) {
        case .taken: break
        case .bomb: sawHeadBomb = true
        case .trailer:
            // Ladle reads no trailers; their bytes only count against the limit.
            guard let state = streams.find(stream) else { return }
            state.trailerBytes += name.count + value.count + 32
            if state.trailerBytes > limits.headBytes { condemn(stream, .enhanceYourCalm) }
        }
    }

    func gotInvalidField(_ stream: HTTP2StreamID) {
        condemn(stream, .protocolError)
    }

    func completedHead(_ stream: HTTP2StreamID, ends: Bool) {
        guard let state = streams.find(stream), let built = builder.finish(stream) else { return }
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
        guard let state = streams.find(stream), state.announced, !state.condemned else {
            return afterwards.append(.consumeForConnection(bytes.count))
        }
        guard state.discardsBody else {
            state.unconsumed += bytes.count
            return events.append(.data(stream, bytes))
        }
        afterwards.append(.consume(stream, bytes.count))
        guard let left = state.lingering else { return }
        state.lingering = left - bytes.count
        state.lingered += bytes.count
        if bytes.count > left { letGo(state) }
    }

    func requestEnded(_ stream: HTTP2StreamID) {
        guard let state = streams.find(stream), !state.requestEnded else { return }
        state.requestEnded = true
        if state.announced, !state.condemned, !state.discardsBody { events.append(.end(stream)) }
    }

    func gotGoAway(_ code: HTTP2ErrorCode) {
        events.append(.goingAway(code))
    }

    /// Gives the next bytes of a body, or nil to wait for `send`.
    @unsafe func nextBody(
        _ stream: HTTP2StreamID,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, isLast: Bool)? {
        guard let state = streams.find(stream) else { return (0, true) }
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

    /// After a complete answer the server may reset the stream if the request is still arriving (RFC 9113 §8.1). But curl and others lose
    /// the answer then, if they are in the middle of a large body. So the rest of the body is taken, for a while, and thrown away.
    func responseEnded(_ stream: HTTP2StreamID) {
        guard let state = streams.find(stream), !state.requestEnded, !state.condemned else { return }
        state.discardsBody = true
        state.lingering = limits.lingerBytes
        // The first look may come at once.
        state.lingered = limits.lingerBytes
        if state.unconsumed > 0 { afterwards.append(.consume(stream, state.unconsumed)) }
        state.unconsumed = 0
    }

    /// The rest of the body is not waited for.
    private func letGo(_ state: StreamState) {
        state.resetByUs = true
        state.condemned = true
        afterwards.append(.reset(state.id, .noError))
    }

    func sentReset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        if streams.find(stream)?.resetByUs == true { return }
        resetsToCount += 1
        streamErrors += 1
    }

    func sentGoAway(_ code: HTTP2ErrorCode) {
        if code != .noError { report(code) }
    }

    func closed(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = streams.remove(stream) else { return }
        if !state.pending.isEmpty { waiting -= 1 }
        waitingBytes -= state.pending.count
        if state.unconsumed > 0 { afterwards.append(.consumeForConnection(state.unconsumed)) }
        if state.announced { events.append(.closed(stream, code)) }
    }

    private func condemn(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = streams.find(stream), !state.condemned else { return }
        state.condemned = true
        afterwards.append(.reset(stream, code))
    }
}
