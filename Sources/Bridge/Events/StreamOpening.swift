import Access
import Basics
import Store
import EventLoops
import EventStream
import Server
import HTTPModel
import JSONBytes

/// Brings one stream from its request to live events: hello, what was missed, the texts of active runs, then live.
final class StreamOpening: ExchangeOwner {
    /// One page of the log: small enough that other readers get their turn.
    private static let pageEvents = 500
    private static let pageBytes = 256 << 10
    /// Browsers and clients wait so long before they come back.
    private static let retryMilliseconds = 1000

    private let bridge: Bridge
    private let call: Call
    private let wishes: EventStreamOperation.StreamRequest
    private let plan: StreamPlan
    private var subscriber: Subscriber?
    /// The last durable event sent, or the place it started from.
    private var position: EventID
    private var resume: ResumePosition
    /// Events of its own that are to come before the log's, once the reader has taken those before them.
    private var ahead: [HubEvent] = []
    /// It waited between its snapshot and going live: pieces of text came meanwhile.
    private var wasDelayed = false

    init(_ bridge: Bridge, _ call: Call, _ wishes: EventStreamOperation.StreamRequest) {
        self.bridge = bridge
        self.call = call
        self.wishes = wishes
        position = bridge.hub.last
        resume = .fresh(at: bridge.hub.last)
        plan = StreamPlan(
            caller: call.caller,
            filter: wishes.filter,
            format: wishes.format,
            heartbeatSeconds: wishes.heartbeatSeconds,
            heartbeatAsEvent: wishes.heartbeatAsEvent
        )
    }

    func start(on loop: isolated EventLoop) {
        guard let cursor = wishes.cursor else {
            return open(.fresh(at: bridge.hub.last), on: loop)
        }
        let bound = LoopBound(self, on: loop)
        bridge.pipeline.store.reader.read { connection in
            try EventTable(connection).bounds()
        } completion: { [weak loop] result in
            loop?.post { loop in
                guard let this = bound.value(on: loop) else { return }
                switch result {
                case .success(let bounds): this.open(bounds.resume(from: cursor), on: loop)
                // The log cannot be read now: the client reloads, and the stream goes on.
                case .failure: this.open(.reset(oldest: nil, newest: this.bridge.hub.last), on: loop)
                }
            }
        }
    }

    private func open(_ position: ResumePosition, on loop: isolated EventLoop) {
        guard call.exchange.isOpen else { return }
        resume = position
        var head = ResponseHead(.ok, contentType: plan.format.contentType)
        if wishes.isCompressed {
            head.fields.append(.contentEncoding, "gzip")
            head.fields.append(.vary, "Accept-Encoding")
        }
        if call.exchange.method == .head {
            bridge.beginStream(call, head, on: loop)
            return call.exchange.end(on: loop)
        }
        let refusal = bridge.streamRefusal(for: call, now: loop.wallClock)
        bridge.beginStream(call, head, on: loop)
        if let refusal {
            // Nothing was sent: who asked to go on comes back with the very place it asked for.
            write(hello(at: wishes.cursor ?? bridge.hub.last, outcome, on: loop), on: loop)
            write(bridge.shutdownEvent(reason: refusal, retryMilliseconds: 30_000, on: loop), on: loop)
            return call.exchange.end(on: loop)
        }
        begin(on: loop)
    }

    private func begin(on loop: isolated EventLoop) {
        let start: EventID
        switch resume {
        case .fresh:
            start = bridge.hub.last
            write(hello(at: start, outcome, on: loop), on: loop)
        case .recovered(let cursor):
            start = cursor
            bridge.hub.recordResume(recovered: true)
            write(hello(at: cursor, outcome, on: loop), on: loop)
        case .reset(let oldest, let newest):
            start = bridge.hub.last
            bridge.hub.recordResume(recovered: false)
            write(hello(at: start, outcome, on: loop), on: loop)
            write(reset(oldest: oldest, newest: newest, on: loop), on: loop)
        }
        position = start
        let subscriber = bridge.hub.add(call.exchange, plan, limit: wishes.limit, on: loop)
        self.subscriber = subscriber
        // It may stay for days, and needs no more of its request than whose it was.
        call.exchange.notes = subscriber
        if let seconds = wishes.timeoutSeconds { bridge.hub.finish(subscriber, afterSeconds: seconds, on: loop) }
        if wishes.wantsSnapshot { ahead = bridge.snapshot(on: loop).filter(plan.admits).reversed() }
        goOn(subscriber, on: loop)
    }

    // MARK: Catching up

    private func goOn(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing == .replaying else { return }
        while let event = ahead.last {
            switch call.exchange.write(event.bytes(in: plan.format), on: loop) {
            case .written, .waiting: ahead.removeLast()
            case .full: return wait(on: loop)
            case .gone: return bridge.hub.cut(subscriber, on: loop)
            }
        }
        replay(subscriber, on: loop)
    }

    /// The reader is slower than we are: on once it has taken what waits.
    private func wait(on loop: isolated EventLoop) {
        wasDelayed = true
        call.exchange.owner = self
    }

    private func replay(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing == .replaying else { return }
        // Only what the hub has handed out: the rest comes live, and so exactly once.
        guard position.sequence < bridge.hub.last.sequence else { return goLive(subscriber, on: loop) }
        let position = position
        let filter = wishes.filter
        let bound = LoopBound(self, on: loop)
        bridge.pipeline.store.reader.read { connection in
            try EventTable(connection).read(
                after: position,
                filter: filter,
                limit: Self.pageEvents,
                bytes: Self.pageBytes
            )
        } completion: { [weak loop] result in
            loop?.post { loop in
                guard let this = bound.value(on: loop) else { return }
                switch result {
                case .success(.page(let page)): this.send(page, to: this.subscriber, on: loop)
                case .success(.outside(let bounds)): this.fallOut(bounds, this.subscriber, on: loop)
                case .failure: if let subscriber = this.subscriber { this.bridge.hub.cut(subscriber, on: loop) }
                }
            }
        }
    }

    private func send(_ page: EventTable.Page, to subscriber: Subscriber?, on loop: isolated EventLoop) {
        guard let subscriber, subscriber.standing == .replaying else { return }
        let end = bridge.hub.last.sequence
        for stored in page.events where stored.id.sequence <= end {
            let event = HubEvent(stored)
            if plan.admits(event) {
                switch call.exchange.write(event.bytes(in: plan.format), on: loop) {
                case .written, .waiting: break
                case .full: return wait(on: loop)
                case .gone: return bridge.hub.cut(subscriber, on: loop)
                }
                if isLast(subscriber) { return bridge.hub.finish(subscriber, on: loop) }
            }
            position.sequence = stored.id.sequence
        }
        position.sequence = min(page.next.sequence, end)
        if call.exchange.waitingBytes > 0 { wait(on: loop) } else { replay(subscriber, on: loop) }
    }

    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {
        guard let subscriber else { return }
        exchange.owner = subscriber
        goOn(subscriber, on: loop)
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) {
        if let subscriber { bridge.hub.remove(subscriber, on: loop) }
    }

    /// Retention was faster than the reader: it is told, and goes on from now.
    private func fallOut(_ bounds: EventLogBounds, _ subscriber: Subscriber?, on loop: isolated EventLoop) {
        guard let subscriber, subscriber.standing == .replaying else { return }
        bridge.hub.recordResume(recovered: false)
        resume = .reset(oldest: bounds.oldest, newest: bounds.newest)
        write(reset(oldest: bounds.oldest, newest: bounds.newest, on: loop), on: loop)
        goLive(subscriber, on: loop)
    }

    private func goLive(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        let texts = isFresh && !wasDelayed ? [] : bridge.activeTexts(on: loop).filter(plan.admits)
        bridge.hub.goLive(subscriber, behind: texts, on: loop)
    }

    private var isFresh: Bool { if case .fresh = resume { true } else { false } }

    /// How the resume went, as `hello` says it.
    private var outcome: String {
        switch resume {
        case .fresh: "fresh"
        case .recovered: "recovered"
        case .reset: "reset"
        }
    }

    // MARK: Ending by itself

    private func isLast(_ subscriber: Subscriber) -> Bool {
        guard let remaining = subscriber.group.remaining else { return false }
        subscriber.group.remaining = remaining - 1
        return remaining <= 1
    }

    // MARK: Events of the stream itself

    /// The first of a stream, and so always taken.
    private func write(_ event: HubEvent, on loop: isolated EventLoop) {
        _ = call.exchange.write(event.bytes(in: plan.format), on: loop)
    }

    private func hello(at position: EventID, _ outcome: String, on loop: isolated EventLoop) -> HubEvent {
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", position.text)
            object.member("type", "hello")
            object.member("at", loop.wallClock)
            object.member("version", bridge.settings.version)
            object.member("epoch", bridge.hub.last.epoch.text)
            object.member("resume", outcome)
            object.member("retry", Self.retryMilliseconds)
            object.member("link", bridge.linkStatus)
        }
        return HubEvent(type: "hello", id: position, data: writer.bytes, retry: Self.retryMilliseconds)
    }

    private func reset(oldest: EventID?, newest: EventID, on loop: isolated EventLoop) -> HubEvent {
        HubEvent(transient: "reset", at: loop.wallClock) { object in
            object.member("requested", wishes.cursor?.text)
            object.member("oldest", oldest?.text)
            object.member("newest", newest.text)
            object.member("epoch", newest.epoch.text)
            object.array("reload", of: ["/v1/runs", "/v1/messages", "/v1/outbox", "/v1/status"])
        }
    }
}
