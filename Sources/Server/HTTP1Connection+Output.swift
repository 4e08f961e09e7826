import EventLoops

/// What leaves: answers made in one go are gathered into one write.
extension HTTP1Connection {
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
        // Out of `self` meanwhile: a peer found gone ends its exchange here.
        var bytes: [UInt8] = []
        swap(&bytes, &out)
        let outcome = stream.send(bytes.span, on: loop)
        server.takeBack(&bytes)
        if outcome == .overflow { cut(on: loop) }
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
}
