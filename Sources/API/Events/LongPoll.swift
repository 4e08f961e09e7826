import Access
import EventLoops
import EventStream
import JSONBytes
import Outbox
import Server
import Service

/// `?poll=N`: returns the events after a cursor, or waits up to N seconds for the first ones.
final class LongPoll: OpenRequest, ExchangeOwner {
    static let mostEvents = 1000
    private static let mostBytes = 1 << 20

    private let api: HTTPAPI
    private let call: Call
    private let request: EventStreamOperation.StreamRequest
    private let seconds: Int
    private var position: EventID
    /// The present state, before the events.
    private var ahead: [StreamEvent] = []
    private var observer: UInt64?
    private var timer: TimerID?
    /// Ends the wait: whether an event has come.
    private var endWait: ((Bool) -> Void)?

    init(_ api: HTTPAPI, _ call: Call, _ request: EventStreamOperation.StreamRequest, seconds: Int) {
        self.api = api
        self.call = call
        self.request = request
        self.seconds = seconds
        position = request.cursor ?? api.hub.last
    }

    func run(on loop: isolated EventLoop) async throws(Problem) {
        if request.wantsSnapshot {
            let state = try await state(on: loop)
            // The state alone is an answer.
            if request.cursor == nil {
                return answer(events: [], cursor: state.position ?? api.hub.last, reset: nil, on: loop)
            }
        }
        var found = request.cursor == nil ? .events([]) : try await read(on: loop)
        if case .events(let events) = found, events.isEmpty, !request.wantsSnapshot, try await wait(on: loop) {
            found = try await read(on: loop)
        }
        switch found {
        case .events(let events): answer(events: events, cursor: position, reset: nil, on: loop)
        case .outside(let bounds): answer(events: [], cursor: bounds.newest, reset: bounds, on: loop)
        }
    }

    private func state(on loop: isolated EventLoop) async throws(Problem) -> StateNow {
        let state: StateNow
        do {
            state = try await api.source.state(api.source.question(of: call), on: loop)
        } catch {
            throw .unread(error)
        }
        let events = state.events + api.source.activeTexts(at: loop.wallClock)
        ahead = events.filter { $0.isMeant(for: call.caller, by: request.filter) }
        return state
    }

    private enum Found {
        case events([StreamEvent])
        case outside(EventLogBounds)
    }

    /// Reads until there are events or the log has no more.
    private func read(on loop: isolated EventLoop) async throws(Problem) -> Found {
        while true {
            let reading: EventReader.Reading
            do {
                reading = try await api.source.read(
                    after: position,
                    filter: request.filter,
                    limit: min(request.limit ?? Self.mostEvents, Self.mostEvents),
                    bytes: Self.mostBytes,
                    on: loop
                )
            } catch {
                throw .unread(error)
            }
            switch reading {
            case .outside(let bounds): return .outside(bounds)
            case .page(let page):
                // A row can be readable a moment before its event is published; a stream resumed from this cursor would
                // repeat it.
                let last = api.hub.last.sequence
                let events = page.events.filter { $0.id?.sequence ?? 0 <= last && $0.isMeant(for: call.caller) }
                position.sequence = max(position.sequence, min(page.next.sequence, last))
                // Events may have been published since the page was read.
                if !events.isEmpty || position.sequence >= last { return .events(events) }
            }
        }
    }

    // MARK: Waiting

    /// Waits for an event of the caller's.
    /// - Returns: false if the time is up, the caller has left or the program is stopping: the next request continues from here.
    private func wait(on loop: isolated EventLoop) async throws(Problem) -> Bool {
        guard seconds > 0, !api.isShuttingDown, call.exchange.isOpen else { return false }
        // A waiting poll counts like an open stream.
        guard api.open.takeSlot(for: call) else { throw .tooManyStreams }
        return await loop.wait { (end: @escaping (Bool) -> Void) in
            endWait = end
            observer = api.hub.observe { [weak self] event in
                guard let self, event.id != nil, event.isMeant(for: call.caller, by: request.filter) else { return }
                stopWaiting(isHere: true, on: loop)
            }
            timer = loop.after(milliseconds: Int64(seconds) * 1000) { [weak self] in
                self?.stopWaiting(isHere: false, on: loop)
            }
            call.exchange.owner = self
            api.open.add(self)
            call.exchange.endWithPeer(on: loop)
        }
    }

    private func stopWaiting(isHere: Bool, on loop: isolated EventLoop) {
        guard let endWait else { return }
        self.endWait = nil
        if let observer { api.hub.stopObserving(observer) }
        if let timer { loop.cancel(timer) }
        (observer, timer) = (nil, nil)
        call.exchange.owner = nil
        api.open.releaseSlot(of: call.caller)
        api.open.remove(self)
        endWait(isHere)
    }

    func shutDown(reason: String, on loop: isolated EventLoop) { stopWaiting(isHere: false, on: loop) }
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stopWaiting(isHere: false, on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    // MARK: Answer

    private func answer(events: [StreamEvent], cursor: EventID, reset: EventLogBounds?, on loop: isolated EventLoop) {
        call.respond(
            .object { object in
                object.array("events") { list in
                    for event in ahead + events { list.raw(StreamFormat.data(of: event)) }
                }
                object.member("cursor", cursor.text)
                if let reset {
                    object.object("reset") { inner in
                        inner.member("requested", request.cursor?.text)
                        inner.member("oldest", reset.oldest?.text)
                        inner.member("newest", reset.newest.text)
                    }
                }
            },
            on: loop
        )
    }
}
