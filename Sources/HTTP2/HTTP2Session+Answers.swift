package import HTTPModel

/// The application's calls for its streams.
extension HTTP2Session {
    /// Reopens the peer's window by `count` bytes, once the application has used or stored them.
    package func consume(_ count: Int, on stream: HTTP2StreamID) {
        guard let state = streams.find(stream), count > 0 else { return }
        let used = min(count, state.unconsumed)
        state.unconsumed -= used
        handle.consume(stream, used)
    }

    /// Sends an interim head, such as 100 (RFC 9110 §15.2).
    package func inform(_ stream: HTTP2StreamID, _ head: ResponseHead) {
        guard let state = streams.find(stream), !state.condemned, !state.responseStarted else { return }
        block.fill(head)
        handle.inform(stream, &block)
    }

    /// Sends the head of the answer; with `end`, the answer has no body.
    /// - Parameter length: the body's length, unless the head states it.
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

    /// Queues body bytes behind the waiting ones, keeping the array instead of copying it. The queue has no limit:
    /// callers watch `pendingBytes` and the `drained` event.
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

    /// Body bytes not yet taken as output. After a count above zero, a `drained` event says when none are left.
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

    /// Resets the streams that have their whole answer, and whose request has not brought this many bytes since the last call.
    package func endLingering(below bytes: Int) {
        for state in streams.all where state.lingering != nil && !state.condemned {
            guard state.lingered < bytes else {
                state.lingered = 0
                continue
            }
            reset(state.id, .noError)
        }
    }

    /// Streams that the peer's windows have stalled for at least `nanoseconds`. The caller resets them or closes.
    package func stalledStreams(for nanoseconds: UInt64, now: UInt64) -> [HTTP2StreamID] {
        guard waiting > 0 else { return [] }
        return streams.all.compactMap { state in
            guard let since = state.stalledSince, !state.pending.isEmpty else { return nil }
            return now >= since && now - since >= nanoseconds ? state.id : nil
        }
    }
}
