import Access
package import Basics
package import EventLoops
package import EventStream
package import HTTPModel
import JSONBytes
package import Observability
package import Outbound
package import Service

/// The reason why a leader is not followed now, and what to type next.
package struct FollowFault: Equatable, Sendable {
    package let reason: String
    package let hint: String

    init(_ reason: String, hint: String = "at the leader: ladle status") {
        (self.reason, self.hint) = (reason, hint)
    }

    init(status: Int) {
        switch status {
        case 401: self.init("it does not know the token of follow.tokenFile", hint: Self.makeToken)
        case 403: self.init("the token of follow.tokenFile needs scope admin", hint: Self.makeToken)
        case 404:
            self.init(
                "it leads nobody: it is no Ladle, or follows another one itself",
                hint: "name the Ladle that has the gateway in follow.url"
            )
        case 421, 400:
            self.init("it does not answer to this name (status \(status))", hint: "add it to access.hosts there")
        default: self.init("status \(status)")
        }
    }

    private static let makeToken = "at the leader: ladle token create --name follower --scopes admin"
}

/// Receives what a follower learns from its leader.
package protocol FollowReceiver: AnyObject {
    /// Nothing was heard of the leader for ten seconds.
    func leaderIsSilent(on loop: isolated EventLoop)
    /// The leader has answered: its tokens and its settings count from now on.
    func leaderAnswered(_ beat: Beat, on loop: isolated EventLoop)
    /// The log begins at this position, for this host: nothing before it is known.
    func logBegins(at position: EventID, on loop: isolated EventLoop)
    func followed(_ event: StreamEvent, on loop: isolated EventLoop)
    /// How many streams are open here.
    var openStreams: Int { get }
    /// The types of events that an open stream has asked for by name.
    var namedTypes: [String] { get }
}

/// Follows a leader. A beat each second brings its tokens and shows that it is there; one stream brings its events, which are kept in memory
/// as far as they fit. The stream is opened only behind a beat: no event reaches a client whose token may be gone.
package final class FollowService {
    private static let beatMs: Int64 = 1_000
    private static let beatSilenceMs: Int64 = 3_000
    private static let beatWholeMs: Int64 = 5_000
    /// Without an answer to a beat for this long, events wait: the next one may bring the end of a token.
    private static let overdueMs: Int64 = 1_500
    /// A stream that ends sooner was refused, or is cut again and again.
    private static let settledMs: Int64 = 900
    private static let longestRetryMs: Int64 = 2_000
    private static let longestFeedRetryMs: Int64 = 5_000
    private static let readSilenceMs: Int64 = 10_000
    private static let wholeMs: Int64 = 30_000
    private static let heartbeatSeconds = 5
    /// Two heartbeats and some.
    private static let feedSilenceMs: Int64 = 12_000
    /// After this long without the leader it is unknown which tokens still count.
    private static let isolatedMs: Int64 = 10_000
    /// How long a stream waits for an event that another host has told its client already.
    private static let reachMs: Int64 = 5_000

    package enum Standing: String, Sendable {
        /// Nothing was heard of the leader yet.
        case starting
        case live
        /// The leader's stream was open within ten seconds, and is being opened again.
        case catching
        /// For ten seconds there was no answer of the leader, or no stream.
        case isolated
    }

    package let settings: FollowSettings
    package let requests: ServerRequests
    package private(set) var leader: Beat?
    /// Why the leader did not answer last; nil if it did.
    private var beatFault: FollowFault?
    /// Why its stream ended last; nil once one stays open.
    private var feedFault: FollowFault?
    package private(set) var recent: RecentEvents?
    package private(set) var texts = RunningTexts()
    package private(set) var since: Timestamp?
    package private(set) var breaks: UInt64 = 0
    private weak var receiver: (any FollowReceiver)?
    private let log: Log
    private var heardAt: UInt64?
    private var isBeating = false
    private var isStopped = false
    private var retryMs: Int64 = 250
    private var timer: TimerID?
    private var feed: (connection: ServerConnection, named: [String], number: UInt64)?
    private var isFeedOpen = false
    private var feedBeganAt: UInt64 = 0
    /// Since when there is no stream that stays open; nil while there is one.
    private var feedLostAt: UInt64?
    private var feedRetryMs: Int64 = 250
    private var feedRetryAt: UInt64 = 0
    /// The reason in the leader's `shutdown`, before its stream ends.
    private var shutdownReason: String?
    /// Lines that came while the beat was overdue.
    private var held: [[UInt8]] = []
    private var hasToldSilence = false
    private var feeds: UInt64 = 0
    private var waiting: [UInt64: (position: EventID, completion: (Bool) -> Void)] = [:]
    private var waits: UInt64 = 0

    package init(_ settings: FollowSettings, log: Log) {
        self.settings = settings
        self.log = log
        requests = ServerRequests(settings.target)
    }

    package func start(_ receiver: any FollowReceiver, on loop: isolated EventLoop) {
        self.receiver = receiver
        beat(on: loop)
    }

    package func stop(on loop: isolated EventLoop) {
        isStopped = true
        if let timer { loop.cancel(timer) }
        feed?.connection.cancel(on: loop)
        feed = nil
        requests.close(on: loop)
    }

    package func standing(now: UInt64) -> Standing {
        guard let heardAt else { return .starting }
        if Self.passed(since: heardAt, now: now) > Self.isolatedMs { return .isolated }
        if let feedLostAt, Self.passed(since: feedLostAt, now: now) > Self.isolatedMs { return .isolated }
        return isFeedOpen ? .live : .catching
    }

    package var isLive: Bool { isFeedOpen }

    /// The fault of the leader, for people; nil if it answers and its stream is open.
    package var fault: FollowFault? { beatFault ?? feedFault }

    private static func passed(since start: UInt64, now: UInt64) -> Int64 { Int64((now - start) / 1_000_000) }

    /// Milliseconds since the leader's last answer; nil if there was none.
    package func silentMs(now: UInt64) -> Int64? { heardAt.map { Self.passed(since: $0, now: now) } }

    /// Whether requests can be answered: the leader was there within ten seconds.
    package func isServing(now: UInt64) -> Bool {
        switch standing(now: now) {
        case .live, .catching: recent != nil
        case .starting, .isolated: false
        }
    }

    // MARK: Beats

    private func arm(milliseconds: Int64, on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = loop.after(milliseconds: milliseconds) { [weak self] in
            self?.timer = nil
            self?.beat(on: loop)
        }
    }

    private func beat(on loop: isolated EventLoop) {
        guard !isStopped, !isBeating else { return }
        isBeating = true
        var query = [("host", settings.host), ("version", settings.version)]
        query.append(("streams", "\(receiver?.openStreams ?? 0)"))
        if let last = recent?.last { query.append(("last", last.text)) }
        if let leader { query.append(("tokens", leader.revision)) }
        ask("/v1/follow", query, silenceMs: Self.beatSilenceMs, wholeMs: Self.beatWholeMs, on: loop) {
            [weak self] result in
            guard let self, !self.isStopped else { return }
            self.isBeating = false
            switch result {
            case .success((200, let body)):
                if let beat = Beat(parsing: body) { return self.answered(beat, on: loop) }
                let reason = "its answer lacks what a follower needs"
                self.failed(FollowFault(reason, hint: "let both be of one version"), on: loop)
            case .success((let status, _)): self.failed(FollowFault(status: status), on: loop)
            case .failure(let failure): self.failed(FollowFault(failure.reason), on: loop)
            }
        }
    }

    private func answered(_ beat: Beat, on loop: isolated EventLoop) {
        var beat = beat
        if beat.tokens == nil, leader == nil { return failed(FollowFault("it sent no tokens"), on: loop) }
        if leader == nil || beatFault != nil {
            log.notice("follow.connected", ["leader": .string(settings.url), "host": .string(beat.host)])
            since = loop.wallClock
        }
        heardAt = loop.now
        (beatFault, retryMs, hasToldSilence) = (nil, 250, false)
        receiver?.leaderAnswered(beat, on: loop)
        beat.tokens = nil
        leader = beat
        let named = receiver?.namedTypes ?? []
        if let feed, feed.named != named { closeFeed(on: loop) }
        if isFeedOpen, Self.passed(since: feedBeganAt, now: loop.now) > Self.settledMs {
            (feedFault, feedLostAt, feedRetryMs) = (nil, nil, 250)
        }
        release(on: loop)
        if feed == nil, loop.now >= feedRetryAt { openFeed(beat, named, on: loop) }
        arm(milliseconds: Self.beatMs, on: loop)
    }

    /// The leader has said whose streams may go on: what waited for that goes out.
    private func release(on loop: isolated EventLoop) {
        guard !held.isEmpty else { return }
        let lines = held
        held = []
        for line in lines where feed != nil { take(line, on: loop) }
        if held.isEmpty { feed?.connection.resume(on: loop) }
    }

    private func failed(_ fault: FollowFault, on loop: isolated EventLoop) {
        if beatFault != fault {
            log.warning(
                "follow.failed",
                ["leader": .string(settings.url), "error": .string(fault.reason), "hint": .string(fault.hint)]
            )
        }
        if beatFault == nil { since = loop.wallClock }
        beatFault = fault
        if standing(now: loop.now) == .isolated, !hasToldSilence {
            hasToldSilence = true
            // Nothing more may be told of a leader that does not say who may hear it.
            closeFeed(on: loop)
            receiver?.leaderIsSilent(on: loop)
        }
        arm(milliseconds: retryMs, on: loop)
        retryMs = min(2 * retryMs, Self.longestRetryMs)
    }

    // MARK: The stream

    private func openFeed(_ beat: Beat, _ named: [String], on loop: isolated EventLoop) {
        if recent == nil { begin(at: beat.last, on: loop) }
        guard let since = recent?.last else { return }
        let query = [
            ("since", since.text), ("types", (["*"] + named).joined(separator: ",")),
            ("heartbeat", "\(Self.heartbeatSeconds)"),
        ]
        guard let head = head("/v1/events", query, accept: "application/x-ndjson") else { return }
        feeds += 1
        (feedBeganAt, shutdownReason) = (loop.now, nil)
        if feedLostAt == nil { feedLostAt = loop.now }
        let number = feeds
        let receiver = LeaderFeed { [weak self] line in
            if let self, self.feed?.number == number { self.take(line, on: loop) }
        } ended: { [weak self] reason in
            if let self, self.feed?.number == number { self.feedEnded(reason, on: loop) }
        }
        let connection = requests.send(ServerRequest(head, silenceMs: Self.feedSilenceMs), to: receiver, on: loop)
        feed = (connection, named, number)
    }

    private func closeFeed(on loop: isolated EventLoop) {
        let last = feed?.connection
        if feedLostAt == nil { feedLostAt = loop.now }
        (feed, isFeedOpen, held) = (nil, false, [])
        texts.tear()
        last?.cancel(on: loop)
    }

    private func feedEnded(_ reason: String, on loop: isolated EventLoop) {
        let lasted = Self.passed(since: feedBeganAt, now: loop.now)
        closeFeed(on: loop)
        breaks += 1
        guard !isStopped else { return }
        let fault = FollowFault(shutdownReason.map { "its stream ends: \($0)" } ?? "its stream: \(reason)")
        if fault != feedFault { log.info("follow.streamEnded", ["reason": .string(fault.reason)]) }
        feedFault = fault
        if lasted > Self.settledMs { feedRetryMs = 250 }
        feedRetryAt = loop.now + UInt64(feedRetryMs) * 1_000_000
        arm(milliseconds: min(max(retryMs, feedRetryMs), Self.beatMs), on: loop)
        feedRetryMs = min(2 * feedRetryMs, Self.longestFeedRetryMs)
    }

    private func take(_ line: [UInt8], on loop: isolated EventLoop) {
        guard let heardAt, Self.passed(since: heardAt, now: loop.now) <= Self.overdueMs, held.isEmpty else {
            held.append(line)
            feed?.connection.pause(on: loop)
            return
        }
        guard let event = StreamEvent(line: line) else { return }
        switch event.type {
        case "hello": isFeedOpen = true
        case "reset": reset(line, on: loop)
        case "shutdown":
            isFeedOpen = false
            shutdownReason = (try? JSONDocument(parsing: line))?.root["reason"]?.string
        case "heartbeat", "summary": break
        default: deliver(event, on: loop)
        }
    }

    /// The leader's log does not have the position: it is another log, or retention was faster.
    private func reset(_ line: [UInt8], on loop: isolated EventLoop) {
        let newest = (try? JSONDocument(parsing: line))?.root["newest"]?.string.flatMap { try? EventID(parsing: $0) }
        if let newest { begin(at: newest, on: loop) } else { closeFeed(on: loop) }
    }

    private func begin(at position: EventID, on loop: isolated EventLoop) {
        recent = RecentEvents(after: position)
        texts = RunningTexts()
        receiver?.logBegins(at: position, on: loop)
    }

    private func deliver(_ event: StreamEvent, on loop: isolated EventLoop) {
        if let id = event.id {
            guard let last = recent?.last, id.epoch == last.epoch, id.sequence > last.sequence else { return }
            recent?.append(event)
            for text in texts.missed(by: event, at: loop.wallClock) { receiver?.followed(text, on: loop) }
        }
        texts.note(event)
        receiver?.followed(event, on: loop)
        if event.id != nil, !waiting.isEmpty { wake() }
    }

    // MARK: Positions of clients

    /// Tells when the events up to `position` are here, or that they did not come in time.
    package func reach(_ position: EventID, on loop: isolated EventLoop, completion: @escaping (Bool) -> Void) {
        guard let last = recent?.last, last.epoch == position.epoch else { return completion(false) }
        if last.sequence >= position.sequence { return completion(true) }
        waits += 1
        let wait = waits
        waiting[wait] = (position, completion)
        loop.after(milliseconds: Self.reachMs) { [weak self] in
            self?.waiting.removeValue(forKey: wait)?.completion(false)
        }
    }

    private func wake() {
        guard let last = recent?.last else { return }
        for (wait, waiter) in waiting where waiter.position.sequence <= last.sequence {
            waiting[wait] = nil
            waiter.completion(true)
        }
    }

    // MARK: Questions to the leader

    /// This host's own `Authorization`.
    package var credential: [UInt8] { Array("Bearer \(settings.token.reveal())".utf8) }

    /// - Parameter credential: the `Authorization` of the one who asks; by default this host's own.
    package func head(
        _ path: String,
        _ query: [(String, String)],
        accept: String,
        credential: [UInt8]? = nil
    ) -> RequestHead? {
        let items = query.map { "\($0.0)=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
        guard var head = try? RequestHead(method: .get, target: "\(settings.target.path)\(path)?\(items)") else {
            return nil
        }
        head.fields.append(.authorization, credential ?? self.credential)
        head.fields.append(.accept, accept)
        head.fields.append(.userAgent, "Ladle/\(settings.version) (follower)")
        return head
    }

    package func ask(
        _ path: String,
        _ query: [(String, String)],
        credential: [UInt8]? = nil,
        silenceMs: Int64 = readSilenceMs,
        wholeMs: Int64 = wholeMs,
        on loop: isolated EventLoop,
        completion: @escaping (WholeAnswer.Result) -> Void
    ) {
        guard let head = head(path, query, accept: "application/json", credential: credential) else {
            return completion(.failure(.unreachable("the address cannot be asked for")))
        }
        let answer = WholeAnswer(completion)
        let request = ServerRequest(head, silenceMs: silenceMs, wholeMs: wholeMs)
        answer.connection = requests.send(request, to: answer, on: loop)
    }
}
