import Access
import Basics
package import EventLoops
package import EventStream
package import Follow
import HTTPModel
import JSONBytes
package import Observability
import Outbound
import Server
package import Service

/// The API's side of following a leader: its events go to the streams of this host, its tokens let callers in, and what only it knows is
/// asked there.
package final class Follower: EventSource, FollowReceiver, MetricsSource {
    let service: FollowService
    private unowned let api: HTTPAPI
    /// Requests that the leader has and has not answered.
    private var forwards: [ObjectIdentifier: Forward] = [:]
    var forwarded = ForwardCounters()

    package init(_ service: FollowService, _ api: HTTPAPI) {
        self.service = service
        self.api = api
    }

    package func start(on loop: isolated EventLoop) { service.start(self, on: loop) }
    package func stop(on loop: isolated EventLoop) { service.stop(on: loop) }

    /// Refuses a request that needs the leader's word, if there is none.
    func checkLeader(on loop: isolated EventLoop) throws(Problem) {
        guard service.isServing(now: loop.now) else { throw .noLeader(service.fault?.reason) }
    }

    func began(_ forward: Forward) { forwards[ObjectIdentifier(forward)] = forward }
    func ended(_ forward: Forward) { forwards[ObjectIdentifier(forward)] = nil }

    // MARK: FollowReceiver

    package func leaderIsSilent(on loop: isolated EventLoop) {
        for forward in Array(forwards.values) { forward.giveUp(on: loop) }
    }

    package func leaderAnswered(_ beat: Beat, on loop: isolated EventLoop) {
        api.runs.take(beat.defaults)
        if let tokens = beat.tokens { api.access.adopt(tokens, on: loop) }
    }

    package func logBegins(at position: EventID, on loop: isolated EventLoop) {
        api.hub.begin(at: position, on: loop)
    }

    package func followed(_ event: StreamEvent, on loop: isolated EventLoop) {
        api.hub.deliver(event, on: loop)
    }

    package var openStreams: Int { api.hub.count }

    package var namedTypes: [String] { ["message", "usage"].filter(api.services.audience.names) }

    // MARK: EventSource

    func position(after cursor: EventID, on loop: isolated EventLoop) async throws -> ResumePosition {
        guard service.isServing(now: loop.now), let recent = service.recent else {
            throw NoLeader(reason: service.fault?.reason)
        }
        if recent.has(after: cursor) { return .recovered(after: cursor) }
        // Older than what is kept here, of another log, or told by another host a moment ago.
        return switch try await read(after: cursor, filter: .everything, limit: 1, bytes: 1, on: loop) {
        case .page: .recovered(after: cursor)
        case .outside(let bounds): .reset(oldest: bounds.oldest, newest: bounds.newest)
        }
    }

    func read(
        after cursor: EventID,
        filter: EventFilter,
        limit: Int,
        bytes: Int,
        on loop: isolated EventLoop
    ) async throws -> EventReader.Reading {
        if let recent = service.recent, recent.has(after: cursor) {
            return .page(recent.page(after: cursor, filter: filter, limit: limit, bytes: bytes))
        }
        var query = [("poll", "0"), ("since", cursor.text), ("limit", "\(min(limit, LongPoll.mostEvents))")]
        query += filter.query
        let answer = await loop.wait { service.ask("/v1/events", query, on: loop, completion: $0) }
        return try LeaderPage.read(answer).reading
    }

    func reach(_ position: EventID, on loop: isolated EventLoop) async -> Bool {
        await loop.wait { service.reach(position, on: loop, completion: $0) }
    }

    func question(of call: Call) -> StateQuestion {
        StateQuestion(caller: call.caller, credential: Forward.credential(of: call, service))
    }

    func state(_ question: StateQuestion, on loop: isolated EventLoop) async throws -> StateNow {
        let query = [("poll", "0"), ("snapshot", "1")]
        let answer = await loop.wait {
            service.ask("/v1/events", query, credential: question.credential, on: loop, completion: $0)
        }
        let page = try LeaderPage.read(answer)
        // The summary asked for with this host's credential counts what the caller may not see.
        let isWhole = question.credential != nil || question.caller.sessions == nil
        // Without the leader's texts: they may be ahead of its stream here, and a piece that is in them would come once more.
        let state = page.events.filter { $0.id == nil && $0.type != "run.delta" && (isWhole || $0.type != "summary") }
        return StateNow(events: state.filter { $0.isMeant(for: question.caller) }, position: page.cursor)
    }

    func activeTexts(at: Timestamp) -> [StreamEvent] { service.texts.events(at: at) }

    func link(shownTo caller: Caller) -> [UInt8] {
        (caller.sessions == nil ? service.leader?.link : service.leader?.limitedLink) ?? Array("null".utf8)
    }

    /// The leader hears of it from the filter of the feed.
    func follow(_ filter: EventFilter, by caller: Caller, on loop: isolated EventLoop) {}

    // MARK: Metrics

    package func writeMetrics(to page: inout MetricsPage) {
        page.gauge("ladle_follow_live", "Whether the leader's stream is open.", service.isLive ? 1 : 0)
        page.counter("ladle_follow_breaks", "Ends of the leader's stream.", service.breaks)
        page.counters(
            "ladle_follow_forwarded",
            "Requests handed to the leader, by outcome.",
            [
                (["result": "answered"], forwarded.answered), (["result": "no_leader"], forwarded.noLeader),
                (["result": "lost"], forwarded.lost),
            ]
        )
    }
}

/// How the forwarded requests ended.
struct ForwardCounters {
    var answered: UInt64 = 0
    var noLeader: UInt64 = 0
    var lost: UInt64 = 0
}

/// The leader cannot be asked now.
struct NoLeader: Error {
    var reason: String?
}

/// One page of the leader's log, or its state, as its long poll answers.
struct LeaderPage {
    let events: [StreamEvent]
    let cursor: EventID
    let bounds: EventLogBounds?

    init?(parsing body: [UInt8]) {
        guard let root = try? JSONDocument(parsing: body, limits: .gateway).root, let list = root["events"],
            let cursor = root["cursor"]?.string.flatMap({ try? EventID(parsing: $0) })
        else { return nil }
        events = list.elements.compactMap { StreamEvent(line: Array($0.raw)) }
        self.cursor = cursor
        bounds = root["reset"].map { reset in
            EventLogBounds(
                oldest: reset["oldest"]?.string.flatMap { try? EventID(parsing: $0) },
                newest: reset["newest"]?.string.flatMap { try? EventID(parsing: $0) } ?? cursor
            )
        }
    }

    static func read(_ answer: WholeAnswer.Result) throws(NoLeader) -> LeaderPage {
        switch answer {
        case .success((200, let body)):
            guard let page = LeaderPage(parsing: body) else { throw NoLeader(reason: "it answers no page of events") }
            return page
        case .success((let status, _)): throw NoLeader(reason: "status \(status)")
        case .failure(let failure): throw NoLeader(reason: failure.reason)
        }
    }

    var reading: EventReader.Reading {
        if let bounds { return .outside(bounds) }
        return .page(EventReader.Page(events: events.filter { $0.id != nil }, next: cursor, isEnd: events.isEmpty))
    }
}
