import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Observability
import Server
import Service

/// Streams of the frame log. Each frame is encoded once and written to all readers; a slow reader is cut.
final class FrameFeed: ExchangeOwner {
    private struct Follower {
        let exchange: Exchange
        let caller: Caller
    }

    private static let heartbeatMilliseconds: Int64 = 15_000

    private unowned let api: HTTPAPI
    private var followers: [ObjectIdentifier: Follower] = [:]
    private var heartbeat: TimerID?

    init(_ api: HTTPAPI) {
        self.api = api
    }

    /// Opens a stream with the kept frames after `since`; later frames follow live.
    func open(_ call: Call, since: Int64, on loop: isolated EventLoop) {
        let exchange = call.exchange
        let head = ResponseHead(.ok, contentType: StreamFormat.eventStream.contentType)
        let refusal = exchange.method == .head ? nil : api.streamRefusal(for: call, now: loop.wallClock)
        api.beginStream(call, head, on: loop)
        guard exchange.isStreaming else { return }
        if exchange.method == .head { return exchange.end(on: loop) }
        exchange.limitWaiting(to: api.hub.bufferLimit)
        if let refusal { return end(exchange, reason: refusal, on: loop) }
        followers[ObjectIdentifier(exchange)] = Follower(exchange: exchange, caller: call.caller)
        exchange.owner = self
        var kept: [UInt8] = []
        for entry in api.services.gateway.frames(after: since) ?? [] { kept += Self.block(entry) }
        // The comment sends the head to the reader even if there is no frame yet.
        write(kept.isEmpty ? Self.comment : kept, to: exchange, on: loop)
        guard heartbeat == nil, !followers.isEmpty else { return }
        beat(on: loop)
    }

    func logged(_ entry: LoggedFrame, on loop: isolated EventLoop) {
        guard !followers.isEmpty else { return }
        tell(Self.block(entry), on: loop)
    }

    func shutDown(on loop: isolated EventLoop) {
        for follower in followers.values {
            remove(follower.exchange, on: loop)
            end(follower.exchange, reason: "shutting_down", on: loop)
        }
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { remove(exchange, on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    private func tell(_ block: [UInt8], on loop: isolated EventLoop) {
        for follower in followers.values { write(block, to: follower.exchange, on: loop) }
    }

    private func write(_ bytes: [UInt8], to exchange: Exchange, on loop: isolated EventLoop) {
        switch exchange.write(bytes, on: loop) {
        case .written, .waiting: break
        case .full, .gone:
            remove(exchange, on: loop)
            exchange.abort(on: loop)
        }
    }

    private func end(_ exchange: Exchange, reason: String, on loop: isolated EventLoop) {
        let event = StreamEvent.shutdown(reason: reason, retryMilliseconds: 30_000, at: loop.wallClock)
        _ = exchange.write(StreamFormat.eventStream.encode(event), on: loop)
        exchange.end(on: loop)
    }

    private func remove(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard let follower = followers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
        exchange.owner = nil
        api.open.releaseSlot(of: follower.caller)
        guard followers.isEmpty else { return }
        if let heartbeat { loop.cancel(heartbeat) }
        heartbeat = nil
    }

    private func beat(on loop: isolated EventLoop) {
        heartbeat = loop.after(milliseconds: Self.heartbeatMilliseconds) { [weak self] in
            guard let self else { return }
            self.heartbeat = nil
            self.tell(Self.comment, on: loop)
            if !self.followers.isEmpty { self.beat(on: loop) }
        }
    }

    private static let comment = StreamFormat.eventStream.heartbeat(asEvent: false, at: Timestamp(milliseconds: 0))

    private static func block(_ entry: LoggedFrame) -> [UInt8] {
        var writer = JSONWriter(capacity: entry.frame.count + 128)
        entry.write(to: &writer)
        return Array("id: \(entry.number)\nevent: frame\ndata: ".utf8) + writer.bytes + [0x0A, 0x0A]
    }
}
