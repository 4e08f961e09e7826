import Compression
import EventLoops
import HTTP1
import HTTPModel

/// Answers and streams: what exchanges hand over becomes bytes.
extension HTTP1Connection {
    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange, ending != .closing else { return }
        // The rest of a body nobody wants must not be read as the next request.
        if response.closes || isDeferred || !(parser.isEnded || parser.framing.body == .none) {
            ending = .closeAfterAnswer
        }
        let isGathered = isGathering
        if !isGathered { beginGathering() }
        AnswerWriter.append(
            response,
            to: exchange,
            keepAlive: ending == .keepAlive,
            server: server,
            into: &out,
            on: loop
        )
        answered(exchange, on: loop)
        if ending == .closeAfterAnswer { ending = .answered }
        guard !isGathered else { return }
        endGathering(on: loop)
        guard ending == .keepAlive else { return }
        parser.startNext(keepingHead: false)
        resume(on: loop)
    }

    func answered(_ exchange: Exchange, on loop: isolated EventLoop) {
        self.exchange = nil
        isDeferred = false
        if isStream { server.counters.openStreams -= 1 }
        isStream = false
        server.responder.finished(exchange, on: loop)
    }

    /// What had to wait is worked through now, as far as it goes.
    func resume(on loop: isolated EventLoop) {
        let bytes = pipelined
        pipelined = []
        work(through: bytes.span, on: loop)
        guard ending == .keepAlive || ending == .closeAfterAnswer else { return }
        guard !isDeferred, !isChoked, !isYielding, !isStream else { return }
        if isPaused, pipelined.count <= server.limits.pipelinedBytes {
            isPaused = false
            stream.resumeInput(on: loop)
        }
        if inputEnded, exchange == nil || !parser.isEnded { finishInput(on: loop) }
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        // The connection ends with the body all the same. Chunks are for clients that read a body without them in
        // blocks of their own size, as Python's requests does: they would get an event when later ones fill the block.
        ending = .closeAfterAnswer
        isChunked = if case .http10 = exchange.version { false } else { exchange.method != .head }
        isStream = true
        coder = exchange.method == .head ? nil : ContentCoding.coder(for: head)
        pipelined = []
        exchange.connection.memo = nil
        server.counters.openStreams += 1
        let isGathered = isGathering
        if !isGathered { beginGathering() }
        AnswerWriter.appendStreamHead(head, isChunked: isChunked, server: server, into: &out, on: loop)
        parser.releaseHead()
        // Else its end would go unseen.
        if isPaused {
            isPaused = false
            stream.resumeInput(on: loop)
        }
        guard !isGathered else { return }
        endGathering(on: loop)
        updateDeadline(on: loop)
    }

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        guard self.exchange === exchange else { return .gone }
        guard let coder else { return passChunk(bytes, on: loop) }
        // What is coded must leave: later pieces refer to it.
        guard isGathering || stream.hasRoom(for: coder.most(for: bytes.count) + HTTP1Encoder.chunkFrameBytes) else {
            return .full
        }
        var coded: [UInt8] = []
        coder.compress(bytes, into: &coded)
        return passChunk(coded.span, on: loop)
    }

    private func passChunk(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        guard isChunked else { return pass(bytes, on: loop) }
        var chunk: [UInt8] = []
        HTTP1Encoder.appendChunk(bytes, to: &chunk)
        return pass(chunk.span, on: loop)
    }

    func outlet(for exchange: Exchange) -> SharedBytesTarget? {
        coder == nil ? SharedBytesTarget(isChunked ? .chunk : .plain, to: stream) : nil
    }

    func outletWaits(for exchange: Exchange, on loop: isolated EventLoop) {
        if self.exchange === exchange { updateDeadline(on: loop) }
    }

    private func pass(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        if isGathering {
            out.append(copying: bytes, from: 0)
            return .written
        }
        switch stream.send(bytes, on: loop) {
        case .sent: return .written
        case .queued(let count):
            updateDeadline(on: loop)
            return .waiting(count)
        case .overflow: return .full
        case .closed: return .gone
        }
    }

    func end(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        if let coder {
            var rest: [UInt8] = []
            coder.finish(into: &rest)
            _ = passChunk(rest.span, on: loop)
        }
        if isChunked {
            let last = HTTP1Encoder.lastChunk
            _ = pass(last.span, on: loop)
        }
        // A peer found gone ends the exchange here.
        guard self.exchange === exchange else { return }
        answered(exchange, on: loop)
        ending = .answered
        if !isGathering { close(on: loop) }
    }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange else { return }
        answered(exchange, on: loop)
        cut(on: loop)
    }

    func endWithPeer(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard self.exchange === exchange, inputEnded else { return }
        // Answers before it in the same turn are the peer's all the same.
        if isGathering { flushGathered(on: loop) }
        cut(on: loop)
    }

    func waitingBytes(of exchange: Exchange) -> Int {
        self.exchange === exchange ? stream.waitingBytes : 0
    }

    /// One answer is under way at a time.
    func isBehind(_ exchange: Exchange) -> Bool { false }

    func limitWaiting(to bytes: Int, for exchange: Exchange) {
        if self.exchange === exchange { stream.sendLimit = bytes }
    }

    func drained(on loop: isolated EventLoop) {
        if phase == .output { phase = nil }
        updateDeadline(on: loop)
        if isStream { exchange?.outputDrained(on: loop) }
        guard isChoked else { return }
        isChoked = false
        resume(on: loop)
    }
}
