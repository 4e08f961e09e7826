import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service

/// `POST /v1/messages` with `Accept: text/event-stream`: the events of this message and its run, up to the terminal
/// one.
final class EntryStream: OpenRequest, ExchangeOwner, EntryListener, LaterAnswer {
    private static let heartbeatMilliseconds: Int64 = 15_000

    private let api: HTTPAPI
    private let call: Call
    private var entry: OutboxEntry
    private var follower: EntryFollower?
    private var heartbeat: TimerID?
    private var isOpen = false
    private var holdsSlot = false

    init(_ api: HTTPAPI, _ call: Call, _ entry: OutboxEntry, startsRun: Bool) {
        self.api = api
        self.call = call
        self.entry = entry
        follower = EntryFollower(api, entry, startsRun: startsRun, for: self)
    }

    var entryID: String? { entry.id }
    var tokenID: String? { call.caller.tokenID }

    func listen(on loop: isolated EventLoop) { follower?.listen(on: loop) }

    func follow(_ entry: OutboxEntry) {
        self.entry = entry
        follower?.follow(entry)
    }

    func cancel() {
        follower?.stop()
        follower = nil
    }

    func open(_ entry: OutboxEntry, isReplay: Bool, _ fields: EntryAnswer.Fields, on loop: isolated EventLoop) {
        var head = ResponseHead(.ok, contentType: StreamFormat.eventStream.contentType)
        for field in fields { head.fields.append(field.name, field.value) }
        call.exchange.owner = self
        let refusal = api.streamRefusal(for: call, now: loop.wallClock)
        holdsSlot = refusal == nil
        api.beginStream(call, head, on: loop)
        guard call.exchange.isStreaming else { return stop(on: loop) }
        call.exchange.limitWaiting(to: api.hub.bufferLimit)
        isOpen = true
        api.open.add(self)
        follower?.open(entry, isReplay: isReplay, on: loop)
        guard isOpen else { return }
        if let refusal {
            return end(reason: refusal, retryMilliseconds: 30_000, on: loop)
        }
        beat(on: loop)
    }

    func receive(_ sign: EntryFollower.Sign, on loop: isolated EventLoop) {
        guard isOpen else { return }
        switch sign {
        case .event(let event): write(event, on: loop)
        case .text(let pieces):
            // The text so far comes in one go, and says nothing of how slow the reader is.
            call.exchange.limitWaiting(to: api.hub.bufferLimit + pieces.reduce(0) { $0 + $1.data.count })
            for piece in pieces where isOpen { write(piece, on: loop) }
        case .waits(let reason): tell(reason, on: loop)
        case .over: end(on: loop)
        case .unreadable: end(reason: "store_unavailable", retryMilliseconds: 5000, on: loop)
        }
    }

    /// The entry as it is, with the reason why it waits.
    private func tell(_ reason: String, on loop: isolated EventLoop) {
        api.services.outboxReader.read(entry.id, on: loop) { [weak self] result in
            guard let self, self.isOpen, case .success((let entry, _)?) = result, !entry.state.hasEnded else {
                return
            }
            let event = StreamEvent(transient: "outbox", at: loop.wallClock, session: entry.session, run: entry.runID) {
                $0.key("entry")
                entry.write(to: &$0, blockedReason: reason)
            }
            self.write(event, on: loop)
        }
    }

    private func write(_ event: StreamEvent, on loop: isolated EventLoop) {
        switch call.exchange.write(StreamFormat.eventStream.encode(event), on: loop) {
        case .written, .waiting: break
        case .full, .gone:
            stop(on: loop)
            return call.exchange.abort(on: loop)
        }
    }

    // MARK: The end

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    func shutDown(reason: String, on loop: isolated EventLoop) {
        end(reason: reason, retryMilliseconds: .random(in: 1000...10_000), on: loop)
    }

    private func beat(on loop: isolated EventLoop) {
        heartbeat = loop.after(milliseconds: Self.heartbeatMilliseconds) { [weak self] in
            guard let self, self.isOpen else { return }
            _ = self.call.exchange.write(
                StreamFormat.eventStream.heartbeat(asEvent: false, at: loop.wallClock),
                on: loop
            )
            self.beat(on: loop)
        }
    }

    private func end(reason: String, retryMilliseconds: Int, on loop: isolated EventLoop) {
        write(.shutdown(reason: reason, retryMilliseconds: retryMilliseconds, at: loop.wallClock), on: loop)
        end(on: loop)
    }

    private func end(on loop: isolated EventLoop) {
        guard isOpen else { return }
        stop(on: loop)
        call.exchange.end(on: loop)
    }

    private func stop(on loop: isolated EventLoop) {
        isOpen = false
        cancel()
        if let heartbeat { loop.cancel(heartbeat) }
        heartbeat = nil
        if holdsSlot { api.open.releaseSlot(of: call.caller) }
        holdsSlot = false
        api.open.remove(self)
    }
}
