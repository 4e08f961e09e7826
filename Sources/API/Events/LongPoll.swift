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
    private var observer: UInt64?
    private var timer: TimerID?
    private var holdsSlot = false
    private var position: EventID
    /// The present state, before the events.
    private var ahead: [StreamEvent] = []

    init(_ api: HTTPAPI, _ call: Call, _ request: EventStreamOperation.StreamRequest, seconds: Int) {
        self.api = api
        self.call = call
        self.request = request
        self.seconds = seconds
        position = request.cursor ?? api.hub.last
    }

    func start(on loop: isolated EventLoop) throws(Problem) {
        guard request.wantsSnapshot else { return try begin(on: loop) }
        api.source.state(api.source.question(of: call), on: loop) { [self] result in
            switch result {
            case .failure(let error): call.fail(.unread(error), on: loop)
            case .success(let state):
                let events = state.events + api.source.activeTexts(at: loop.wallClock)
                ahead = events.filter { $0.isMeant(for: call.caller, by: request.filter) }
                guard request.cursor == nil else { return read(mayWait: false, on: loop) }
                // The state alone is an answer.
                answer(events: [], cursor: state.position ?? api.hub.last, reset: nil, on: loop)
            }
        }
    }

    private func begin(on loop: isolated EventLoop) throws(Problem) {
        if request.cursor == nil { try wait(on: loop) } else { read(mayWait: true, on: loop) }
    }

    private func read(mayWait: Bool, on loop: isolated EventLoop) {
        api.source.read(
            after: position,
            filter: request.filter,
            limit: min(request.limit ?? Self.mostEvents, Self.mostEvents),
            bytes: Self.mostBytes,
            on: loop
        ) { [self] result in
            switch result {
            case .success(.page(let page)):
                call.attempt(on: loop) { () throws(Problem) in try take(page, mayWait: mayWait, on: loop) }
            case .success(.outside(let bounds)):
                answer(events: [], cursor: bounds.newest, reset: bounds, on: loop)
            case .failure(let error): call.fail(.unread(error), on: loop)
            }
        }
    }

    private func take(_ page: EventReader.Page, mayWait: Bool, on loop: isolated EventLoop) throws(Problem) {
        // A row can be readable a moment before its event is published; a stream resumed from this cursor would repeat
        // it.
        let last = api.hub.last.sequence
        let events = page.events.filter { $0.id?.sequence ?? 0 <= last && $0.isMeant(for: call.caller) }
        position.sequence = max(position.sequence, min(page.next.sequence, last))
        // Events may have been published since the page was read.
        if events.isEmpty, position.sequence < last { return read(mayWait: mayWait, on: loop) }
        if events.isEmpty, mayWait, seconds > 0 { return try wait(on: loop) }
        answer(events: events, cursor: position, reset: nil, on: loop)
    }

    private func wait(on loop: isolated EventLoop) throws(Problem) {
        guard seconds > 0, !api.isShuttingDown else {
            return answer(events: [], cursor: position, reset: nil, on: loop)
        }
        guard call.exchange.isOpen else { return }
        // A waiting poll counts like an open stream.
        if !holdsSlot {
            guard api.open.takeSlot(for: call) else { throw .tooManyStreams }
            holdsSlot = true
        }
        observer = api.hub.observe { [weak self] event in
            guard let self, event.id != nil, self.observer != nil else { return }
            guard event.isMeant(for: self.call.caller, by: self.request.filter) else { return }
            self.stop(on: loop)
            self.read(mayWait: false, on: loop)
        }
        if timer == nil {
            timer = loop.after(milliseconds: Int64(seconds) * 1000) { [weak self] in
                self?.giveUp(on: loop)
            }
        }
        call.exchange.owner = self
        api.open.add(self)
        call.exchange.endWithPeer(on: loop)
    }

    func shutDown(reason: String, on loop: isolated EventLoop) { giveUp(on: loop) }

    /// The time is up or the program is stopping: the next request continues from here.
    private func giveUp(on loop: isolated EventLoop) {
        stop(on: loop)
        answer(events: [], cursor: position, reset: nil, on: loop)
    }

    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { stop(on: loop) }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}

    private func stop(on loop: isolated EventLoop) {
        if holdsSlot { api.open.releaseSlot(of: call.caller) }
        holdsSlot = false
        if let observer { api.hub.stopObserving(observer) }
        observer = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        call.exchange.owner = nil
        api.open.remove(self)
    }

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
