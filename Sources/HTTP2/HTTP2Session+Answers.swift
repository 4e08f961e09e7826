package import HTTPModel

/// What the application does with its streams.
extension HTTP2Session {
    /// Returns body bytes to the peer's window, once the application has used or stored them.
    package func consume(_ count: Int, on stream: HTTP2StreamID) {
        guard let state = streams.find(stream), count > 0 else { return }
        let used = min(count, state.unconsumed)
        state.unconsumed -= used
        handle.consume(stream, used)
    }

    /// An interim head, such as 100 (RFC 9110 §15.2).
    package func inform(_ stream: HTTP2StreamID, _ head: ResponseHead) {
        guard let state = streams.find(stream), !state.condemned, !state.responseStarted else { return }
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
        guard let state = streams.find(stream), !state.condemned, !state.responseStarted else { return }
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
        guard let state = streams.find(stream), state.responseStarted, !state.closing, !state.condemned else {
            return 0
        }
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

    /// Body bytes not yet in an output. Who is told that some wait is told by `drained` when none does any more.
    package func pendingBytes(on stream: HTTP2StreamID) -> Int {
        guard let state = streams.find(stream), !state.pending.isEmpty else { return 0 }
        state.hasWaited = true
        return state.pending.count
    }

    package func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let state = streams.find(stream), !state.condemned else { return }
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
}
