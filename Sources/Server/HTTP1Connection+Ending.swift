import EventLoops
import HTTP1
import HTTPModel

/// Refusals, deadlines, and how the connection ends.
extension HTTP1Connection {
    func refuse(_ error: HTTP1ParseError, on loop: isolated EventLoop) {
        // Who begins like that could not read an answer; to a client of HTTP/2 the close is one (RFC 9113 §3.4).
        let isAnswered = error != .notHTTP || stream.takenBytes > 0 || !out.isEmpty
        refuse(
            Problem(error),
            isAnswered: isAnswered,
            on: loop
        )
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
            problem.response(requestID: RequestID.text(number)),
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
            // Slow is not stalled: what counts is whether the peer has taken anything.
            guard stream.takenBytes == takenAtWatch else {
                takenAtWatch = stream.takenBytes
                return connection.setDeadline(server.limits.stallMilliseconds, on: loop)
            }
            server.counters.stalled += 1
            return cut(on: loop)
        }
        if parser.isIdle || parser.isEnded || isDeferred { return cut(on: loop) }
        if let exchange, isBodyOnTime(exchange, on: loop) {
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

    private func isBodyOnTime(_ exchange: Exchange, on loop: isolated EventLoop) -> Bool {
        let milliseconds =
            Int64(clamping: (loop.now &- exchange.startedAt) / 1_000_000) - server.limits.bodyGraceMilliseconds
        guard milliseconds > 0 else { return true }
        return Int64(exchange.body.count) * 1000 >= Int64(server.limits.bodyBytesPerSecond) * milliseconds
    }

    /// Patience depends on what is awaited; it starts anew only when that changes.
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
        // The answer is ours to give; the peer has nothing to be late with.
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
        guard let last = exchange else { return }
        last.peerLeft(on: loop)
        answered(last, on: loop)
    }
}
