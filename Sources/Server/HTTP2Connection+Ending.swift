import EventLoops
import HTTP2

/// Deadlines, refusals, and how the connection ends.
extension HTTP2Connection {
    /// Between the two GOAWAYs of a drain: a round trip on any sane path.
    private static let drainMilliseconds: Int64 = 500

    /// While anything is under way the peer is looked at whenever its patience has passed, whatever it sends meanwhile.
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
        // More of the same head is no reason for more patience.
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
            // The peer is late with nothing.
        } else if socket.waitingBytes == 0, streams.isEmpty {
            session.terminate(.noError)
            isClosing = true
        } else {
            // Streams whose peer keeps the window shut, and bodies that do not come.
            let patience = UInt64(clamping: server.limits.stallMilliseconds) &* 1_000_000
            for id in session.stalledStreams(for: patience, now: loop.now) {
                server.counters.stalled += 1
                session.reset(id, .enhanceYourCalm)
            }
            for stream in streams { stream.checkBody(on: loop) }
        }
        work(on: loop)
        updateDeadline(on: loop)
    }

    /// The first request hears why.
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
