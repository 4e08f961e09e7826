import Access
import Basics
import EventLoops
import EventStream
import HTTPModel
import JSONBytes
import Server
import Service

/// Brings one stream from its request to live events: hello, missed events, the texts of active runs, then live.
final class StreamOpening: ExchangeOwner {
    /// The size of one page of the log: small enough that other readers get their turn.
    private static let pageEvents = 500
    private static let pageBytes = 256 << 10

    private let api: HTTPAPI
    private let call: Call
    private let request: EventStreamOperation.StreamRequest
    private let plan: StreamPlan
    private var subscriber: Subscriber?
    /// The last durable event sent, or the starting point.
    private var position: EventID
    private var resume: ResumePosition
    /// The stream's own events to send before the log's, once the reader has taken the earlier bytes.
    private var ahead: [StreamEvent] = []
    /// Nil unless the client wants the present state first.
    private let state: StateQuestion?

    init(_ api: HTTPAPI, _ call: Call, _ request: EventStreamOperation.StreamRequest) {
        self.api = api
        self.call = call
        self.request = request
        position = api.hub.last
        resume = .fresh(at: api.hub.last)
        state = request.wantsSnapshot ? api.source.question(of: call) : nil
        plan = StreamPlan(
            caller: call.caller,
            filter: request.filter,
            format: request.format,
            heartbeatSeconds: request.heartbeatSeconds,
            heartbeatAsEvent: request.heartbeatAsEvent
        )
    }

    func start(on loop: isolated EventLoop) {
        guard let cursor = request.cursor else {
            return open(.fresh(at: api.hub.last), on: loop)
        }
        api.source.position(after: cursor, on: loop) { [self] result in
            switch result {
            case .success(let position): open(position, on: loop)
            case .failure(let error as NoLeader): call.fail(.noLeader(error.reason), on: loop)
            // The log cannot be read now: the client reloads, and the stream goes on.
            case .failure: open(.reset(oldest: nil, newest: api.hub.last), on: loop)
            }
        }
    }

    private func open(_ position: ResumePosition, on loop: isolated EventLoop) {
        guard call.exchange.isOpen else { return }
        resume = position
        var head = ResponseHead(.ok, contentType: plan.format.contentType)
        if request.isCompressed {
            head.fields.append(.contentEncoding, "gzip")
            head.fields.append(.vary, "Accept-Encoding")
        }
        if call.exchange.method == .head {
            api.beginStream(call, head, on: loop)
            return call.exchange.end(on: loop)
        }
        let refusal = api.streamRefusal(for: call, now: loop.wallClock)
        api.beginStream(call, head, on: loop)
        if let refusal {
            // Nothing was sent, so a resuming client reconnects with the same cursor.
            write(hello(at: request.cursor ?? api.hub.last, outcome, on: loop), on: loop)
            write(.shutdown(reason: refusal, retryMilliseconds: 30_000, at: loop.wallClock), on: loop)
            return call.exchange.end(on: loop)
        }
        begin(on: loop)
    }

    private func begin(on loop: isolated EventLoop) {
        let start: EventID
        switch resume {
        case .fresh:
            start = api.hub.last
            write(hello(at: start, outcome, on: loop), on: loop)
        case .recovered(let cursor):
            start = cursor
            api.hub.recordResume(recovered: true)
            write(hello(at: cursor, outcome, on: loop), on: loop)
        case .reset(let oldest, let newest):
            start = api.hub.last
            api.hub.recordResume(recovered: false)
            write(hello(at: start, outcome, on: loop), on: loop)
            write(reset(oldest: oldest, newest: newest, on: loop), on: loop)
        }
        position = start
        let subscriber = api.hub.add(call.exchange, plan, limit: request.limit, on: loop)
        self.subscriber = subscriber
        // A stream may stay open for days and needs only the caller, so the request is released.
        call.exchange.notes = subscriber
        if let seconds = request.timeoutSeconds { api.hub.finish(subscriber, afterSeconds: seconds, on: loop) }
        guard let state else { return goOn(subscriber, on: loop) }
        api.source.state(state, on: loop) { [self] result in
            guard let subscriber = self.subscriber, subscriber.standing == .replaying else { return }
            guard case .success(let state) = result else {
                write(.shutdown(reason: "no_leader", retryMilliseconds: 2_000, at: loop.wallClock), on: loop)
                return api.hub.finish(subscriber, on: loop)
            }
            ahead = state.events.filter(plan.admits).reversed()
            if isFresh, let now = state.position, now.epoch == position.epoch { position = now }
            goOn(subscriber, on: loop)
        }
    }

    // MARK: Catching up

    private func goOn(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing == .replaying else { return }
        while let event = ahead.last {
            switch call.exchange.write(plan.format.encode(event), on: loop) {
            case .written, .waiting: ahead.removeLast()
            case .full: return wait(on: loop)
            case .gone: return api.hub.cut(subscriber, on: loop)
            }
        }
        replay(subscriber, on: loop)
    }

    /// The reader is slower than the log: continue once it has taken the waiting bytes.
    private func wait(on loop: isolated EventLoop) { call.exchange.owner = self }

    private func replay(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        guard subscriber.standing == .replaying else { return }
        // Only events the hub has published: later ones arrive live, and so exactly once.
        guard position.sequence < api.hub.last.sequence else { return reachPosition(subscriber, on: loop) }
        api.source.read(
            after: position,
            filter: request.filter,
            limit: Self.pageEvents,
            bytes: Self.pageBytes,
            on: loop
        ) { [self] result in
            switch result {
            case .success(.page(let page)): send(page, to: self.subscriber, on: loop)
            case .success(.outside(let bounds)): fallOut(bounds, self.subscriber, on: loop)
            // The reader reconnects with its last id, when the disk may be readable again.
            case .failure: if let subscriber = self.subscriber { api.hub.cut(subscriber, on: loop) }
            }
        }
    }

    /// A client that comes from another host may have seen more than this one has told.
    private func reachPosition(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        if position.sequence == api.hub.last.sequence { return goLive(subscriber, on: loop) }
        api.source.reach(position, on: loop) { [self] isHere in
            guard let subscriber = self.subscriber, subscriber.standing == .replaying else { return }
            // It comes back with its id, here or elsewhere.
            guard isHere, position.epoch == api.hub.last.epoch else { return api.hub.cut(subscriber, on: loop) }
            if position.sequence < api.hub.last.sequence {
                replay(subscriber, on: loop)
            } else {
                goLive(subscriber, on: loop)
            }
        }
    }

    private func send(_ page: EventReader.Page, to subscriber: Subscriber?, on loop: isolated EventLoop) {
        guard let subscriber, subscriber.standing == .replaying else { return }
        let end = api.hub.last.sequence
        for event in page.events {
            guard let sequence = event.id?.sequence, sequence <= end else { break }
            if plan.admits(event) {
                switch call.exchange.write(plan.format.encode(event), on: loop) {
                case .written, .waiting: break
                case .full: return wait(on: loop)
                case .gone: return api.hub.cut(subscriber, on: loop)
                }
                if isLast(subscriber) { return api.hub.finish(subscriber, on: loop) }
            }
            position.sequence = sequence
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
        if let subscriber { api.hub.remove(subscriber, on: loop) }
    }

    /// Retention overtook the reader: the stream reports this and continues from now.
    private func fallOut(_ bounds: EventLogBounds, _ subscriber: Subscriber?, on loop: isolated EventLoop) {
        guard let subscriber, subscriber.standing == .replaying else { return }
        api.hub.recordResume(recovered: false)
        resume = .reset(oldest: bounds.oldest, newest: bounds.newest)
        write(reset(oldest: bounds.oldest, newest: bounds.newest, on: loop), on: loop)
        goLive(subscriber, on: loop)
    }

    /// The texts come here and nowhere before: the pieces of a text, and its end, may come while the stream catches up.
    private func goLive(_ subscriber: Subscriber, on loop: isolated EventLoop) {
        let wantsTexts = state != nil || !isFresh
        let texts = wantsTexts ? api.source.activeTexts(at: loop.wallClock).filter(plan.admits) : []
        api.hub.goLive(subscriber, behind: texts, on: loop)
    }

    private var isFresh: Bool { if case .fresh = resume { true } else { false } }

    /// The result of the resume, for `hello`.
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

    /// Writes one of the first events of a stream; the connection always has room for them.
    private func write(_ event: StreamEvent, on loop: isolated EventLoop) {
        _ = call.exchange.write(plan.format.encode(event), on: loop)
    }

    /// The delay before browsers and clients reconnect. Those of one of several hosts go to the others all at one time when it dies.
    private var retryMilliseconds: Int { api.follower == nil ? 1000 : .random(in: 500...1500) }

    private func hello(at position: EventID, _ outcome: String, on loop: isolated EventLoop) -> StreamEvent {
        var writer = JSONWriter()
        let retry = retryMilliseconds
        writer.object { object in
            object.member("id", position.text)
            object.member("type", "hello")
            object.member("at", loop.wallClock)
            object.member("version", api.settings.version)
            object.member("epoch", api.hub.last.epoch.text)
            object.member("resume", outcome)
            object.member("retry", retry)
            object.member("link", raw: api.source.link(shownTo: call.caller))
        }
        return StreamEvent(type: "hello", id: position, data: writer.bytes, retry: retry)
    }

    private func reset(oldest: EventID?, newest: EventID, on loop: isolated EventLoop) -> StreamEvent {
        StreamEvent(transient: "reset", at: loop.wallClock) { object in
            object.member("requested", request.cursor?.text)
            object.member("oldest", oldest?.text)
            object.member("newest", newest.text)
            object.member("epoch", newest.epoch.text)
            object.array("reload", of: ["/v1/runs", "/v1/messages", "/v1/outbox", "/v1/approvals", "/v1/status"])
        }
    }
}
