import Access
import Basics
import EventLoops
import EventStream
import HTTPModel
import JSONBytes
import Server
import Service

/// Brings one stream from its request to live events: hello, the present state, missed events, the texts of active runs, then live.
final class StreamOpening {
    /// The size of one page of the log: small enough that other readers get their turn.
    private static let pageEvents = 500
    private static let pageBytes = 256 << 10

    private let api: HTTPAPI
    private let call: Call
    private let request: EventStreamOperation.StreamRequest
    private let plan: StreamPlan
    /// The last durable event sent, or the starting point.
    private var position: EventID
    private var resume: ResumePosition
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

    /// The whole way. At each step the stream may have ended, from either side; then the subscriber's standing is `over`.
    func run(on loop: isolated EventLoop) async throws(Problem) {
        resume = try await place(on: loop)
        guard call.exchange.isOpen, let subscriber = begin(on: loop) else { return }
        guard await sendState(to: subscriber, on: loop), await catchUp(subscriber, on: loop) else { return }
        goLive(subscriber, on: loop)
    }

    // MARK: Beginning

    private func place(on loop: isolated EventLoop) async throws(Problem) -> ResumePosition {
        guard let cursor = request.cursor else { return .fresh(at: api.hub.last) }
        do {
            return try await api.source.position(after: cursor, on: loop)
        } catch let error as NoLeader {
            throw .noLeader(error.reason)
        } catch {
            // The log cannot be read now: the client reloads, and the stream goes on.
            return .reset(oldest: nil, newest: api.hub.last)
        }
    }

    /// Answers with the head and `hello`. Nil if that is the whole answer.
    private func begin(on loop: isolated EventLoop) -> Subscriber? {
        var head = ResponseHead(.ok, contentType: plan.format.contentType)
        if request.isCompressed {
            head.fields.append(.contentEncoding, "gzip")
            head.fields.append(.vary, "Accept-Encoding")
        }
        if call.exchange.method == .head {
            api.beginStream(call, head, on: loop)
            call.exchange.end(on: loop)
            return nil
        }
        let refusal = api.streamRefusal(for: call, now: loop.wallClock)
        api.beginStream(call, head, on: loop)
        if let refusal {
            // Nothing was sent, so a resuming client reconnects with the same cursor.
            write(hello(at: request.cursor ?? api.hub.last, outcome, on: loop), on: loop)
            write(.shutdown(reason: refusal, retryMilliseconds: 30_000, at: loop.wallClock), on: loop)
            call.exchange.end(on: loop)
            return nil
        }
        position = api.hub.last
        if case .recovered(let cursor) = resume { position = cursor }
        write(hello(at: position, outcome, on: loop), on: loop)
        if !isFresh { api.hub.recordResume(recovered: outcome == "recovered") }
        if case .reset(let oldest, let newest) = resume {
            write(reset(oldest: oldest, newest: newest, on: loop), on: loop)
        }
        let subscriber = api.hub.add(call.exchange, plan, limit: request.limit, on: loop)
        // A stream may stay open for days and needs only the caller, so the request is released.
        call.exchange.notes = subscriber
        if let seconds = request.timeoutSeconds { api.hub.finish(subscriber, afterSeconds: seconds, on: loop) }
        return subscriber
    }

    /// - Returns: false if the stream is over.
    private func sendState(to subscriber: Subscriber, on loop: isolated EventLoop) async -> Bool {
        guard let state else { return true }
        guard let now = try? await api.source.state(state, on: loop) else {
            guard subscriber.standing == .replaying else { return false }
            write(.shutdown(reason: "no_leader", retryMilliseconds: 2_000, at: loop.wallClock), on: loop)
            api.hub.finish(subscriber, on: loop)
            return false
        }
        for event in now.events where plan.admits(event) {
            let bytes = plan.format.encode(event)
            while subscriber.standing == .replaying {
                if await send(bytes, to: subscriber, on: loop) { break }
            }
        }
        if isFresh, let now = now.position, now.epoch == position.epoch { position = now }
        return subscriber.standing == .replaying
    }

    // MARK: Catching up

    /// Sends what the hub has published and the stream has not. What comes later arrives live, and so exactly once: between the end of this
    /// function and `goLive` nothing happens on the loop.
    /// - Returns: false if the stream is over.
    private func catchUp(_ subscriber: Subscriber, on loop: isolated EventLoop) async -> Bool {
        while subscriber.standing == .replaying, position.sequence != api.hub.last.sequence {
            if position.sequence < api.hub.last.sequence {
                await replay(to: subscriber, on: loop)
                continue
            }
            // A client that comes from another host may have seen more than this one has told.
            guard await api.source.reach(position, on: loop), position.epoch == api.hub.last.epoch else {
                // It comes back with its id, here or elsewhere.
                api.hub.cut(subscriber, on: loop)
                return false
            }
            if position.sequence >= api.hub.last.sequence { break }
        }
        return subscriber.standing == .replaying
    }

    /// Sends one page of the log, or as much of it as the connection takes.
    private func replay(to subscriber: Subscriber, on loop: isolated EventLoop) async {
        let reading = try? await api.source.read(
            after: position,
            filter: request.filter,
            limit: Self.pageEvents,
            bytes: Self.pageBytes,
            on: loop
        )
        guard subscriber.standing == .replaying else { return }
        switch reading {
        // The reader reconnects with its last id, when the disk may be readable again.
        case nil: api.hub.cut(subscriber, on: loop)
        case .outside(let bounds)?: fallOut(bounds, on: loop)
        case .page(let page)?:
            let end = api.hub.last.sequence
            for event in page.events {
                guard let sequence = event.id?.sequence, sequence <= end else { break }
                if plan.admits(event) {
                    guard await send(plan.format.encode(event), to: subscriber, on: loop) else { return }
                    if isLast(subscriber) { return api.hub.finish(subscriber, on: loop) }
                }
                position.sequence = sequence
            }
            position.sequence = min(page.next.sequence, end)
            if call.exchange.waitingBytes > 0 { await subscriber.bytesTaken(on: loop) }
        }
    }

    /// Retention overtook the reader: the stream reports this and continues from now.
    private func fallOut(_ bounds: EventLogBounds, on loop: isolated EventLoop) {
        api.hub.recordResume(recovered: false)
        resume = .reset(oldest: bounds.oldest, newest: bounds.newest)
        write(reset(oldest: bounds.oldest, newest: bounds.newest, on: loop), on: loop)
        position = api.hub.last
    }

    /// If the connection is full, sends nothing, and waits until the reader has taken the bytes that wait.
    /// - Returns: whether the bytes are on their way.
    private func send(
        _ bytes: [UInt8],
        to subscriber: Subscriber,
        on loop: isolated EventLoop
    ) async -> Bool {
        switch call.exchange.write(bytes, on: loop) {
        case .written, .waiting: return true
        case .full: await subscriber.bytesTaken(on: loop)
        case .gone: api.hub.cut(subscriber, on: loop)
        }
        return false
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
