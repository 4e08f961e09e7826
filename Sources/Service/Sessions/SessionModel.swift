package import Basics
package import EventLoops
import Gateway
import JSONBytes
import Runs
import Store

/// The gateway's sessions as Ladle knows them: the last list, kept current by the gateway's events. A read that finds
/// it fresh sends no call. The list is also stored in the database, for times without the gateway.
package final class SessionModel {
    package struct List {
        /// The sessions in the gateway's order: the last changed first.
        package let sessions: [SessionInfo]
        /// False for an earlier answer, because the gateway is away.
        package let isLive: Bool
        /// The time of the gateway's answer; nil if it never gave one.
        package let asOf: Timestamp?
    }

    package typealias Completion = (Result<List, ServiceFault>) -> Void

    package static let mostSessions = 1000
    /// The maximum age of members that events leave out, such as titles.
    private static let lifeWithEventsMs: UInt64 = 60_000
    /// For a gateway that reports no changes.
    private static let lifeWithoutEventsMs: UInt64 = 2_000

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private let clientName: String
    private var rows: [String: SessionInfo] = [:]
    /// On the loop's clock; nil if the next read must ask.
    private var readAt: UInt64?
    private var waiters: [Completion] = []
    /// The number of calls; answers to earlier ones are ignored.
    private var asked = 0
    private var isAsking = false
    /// Sessions that events changed while a list was on its way.
    private var touched: Set<String> = []
    private let kept: KeptList
    /// The link was lost since the last list, and events with it.
    private var hasGap = false
    /// Before the first list, new sessions cannot be told from old ones.
    private(set) var wasListed = false

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents, runs: RunService, clientName: String) {
        self.gateway = gateway
        self.feed = feed
        kept = KeptList("sessions", feed: feed)
        self.events = events
        self.runs = runs
        self.clientName = clientName
    }

    // MARK: Rows

    subscript(key: String) -> SessionInfo? { rows[key] }

    var sessions: [SessionInfo] { Array(rows.values) }

    func info(_ row: SessionRow, _ key: SessionKey) -> SessionInfo {
        var info = SessionInfo(row, key: key, clientName: clientName)
        if info.title == nil { info.nameAfterKey() }
        return info
    }

    /// A session, possibly known only by its key.
    func info(named key: SessionKey) -> SessionInfo {
        var info = SessionInfo(key: key)
        info.nameAfterKey()
        return info
    }

    /// The name by which people know a session; nil if only its key is known.
    func title(of session: String) -> String? {
        rows[session].flatMap { $0.titleFrom == .key ? nil : $0.title }
    }

    /// The sessions that the gateway marks as read or unread.
    var unread: [(session: String, isUnread: Bool)] {
        rows.values.compactMap { info in info.isUnread.map { (info.key, $0) } }
    }

    func note(_ info: SessionInfo) {
        if rows.count >= Self.mostSessions * 4 {
            rows = [:]
            readAt = nil
        }
        rows[info.key] = info
        events.changed()
        if isAsking { touched.insert(info.key) }
    }

    /// Updates the preview, which session events do not have.
    func said(_ message: ChatMessage, in session: String) {
        guard message.role == .user || message.role == .assistant, message.state == .sent,
            let preview = SessionInfo.preview(of: message.text)
        else { return }
        rows[session]?.preview = preview
    }

    func remove(_ key: String) {
        rows[key] = nil
        events.changed()
        if isAsking { touched.insert(key) }
    }

    /// Marks the list outdated after a change that no event describes.
    func invalidate() {
        readAt = nil
        events.changed()
        // The requested list may be from before the change.
        if isAsking { asked += 1 }
    }

    /// An event's row, completed with the members that events leave out.
    func merged(_ row: SessionRow, _ key: SessionKey) -> SessionInfo {
        var info = SessionInfo(row, key: key, clientName: clientName)
        guard let last = rows[key.text], last.sessionID == info.sessionID || info.sessionID == nil else {
            readAt = nil
            if info.title == nil { info.nameAfterKey() }
            return info
        }
        // Events carry neither a title made from the first message nor a preview.
        if info.title == nil, last.titleFrom != .label { (info.title, info.titleFrom) = (last.title, last.titleFrom) }
        if info.title == nil { info.nameAfterKey() }
        info.preview = info.preview ?? last.preview
        info.thinking = info.thinking ?? last.thinking
        if info.thinkingLevels.isEmpty { info.thinkingLevels = last.thinkingLevels }
        guard !row.isWhole else { return info }
        readAt = nil
        info.sessionID = last.sessionID
        info.updatedAt = info.updatedAt ?? last.updatedAt
        return info
    }

    // MARK: The link

    func linkOpened(on loop: isolated EventLoop) {
        readAt = nil
        isAsking = false
        asked += 1
        hasGap = wasListed
        if hasGap || !waiters.isEmpty { ask(on: loop) }
    }

    // MARK: Reading

    private func isFresh(on loop: isolated EventLoop) -> Bool {
        guard let readAt else { return false }
        let tells = gateway.hello.map { Capability.eventsSessions.works(with: $0) } ?? false
        let life = (tells ? Self.lifeWithEventsMs : Self.lifeWithoutEventsMs) * 1_000_000
        return loop.now < readAt + life
    }

    /// Reads all sessions, whichever part is wanted.
    package func read(refresh: Bool = false, on loop: isolated EventLoop, completion: @escaping Completion) {
        guard gateway.isOnline else { return readKept(on: loop, completion: completion) }
        if !refresh, isFresh(on: loop) { return completion(.success(current)) }
        waiters.append(completion)
        if !isAsking { ask(on: loop) }
    }

    private var current: List {
        let sorted = rows.values.sorted {
            ($0.updatedAt?.milliseconds ?? 0, $1.key) > ($1.updatedAt?.milliseconds ?? 0, $0.key)
        }
        return List(sessions: sorted, isLive: true, asOf: nil)
    }

    private func ask(on loop: isolated EventLoop) {
        isAsking = true
        asked += 1
        touched = []
        let number = asked
        let call = SessionsList(limit: Self.mostSessions, includeDerivedTitles: true, includeLastMessage: true)
        gateway.call(call, on: loop) { [weak self] in self?.answered($0, number, on: loop) }
    }

    private func answered(_ result: Result<[SessionRow], CallFailure>, _ number: Int, on loop: isolated EventLoop) {
        let isLast = number == asked
        guard isLast || isAsking else { return }
        isAsking = false
        let waiting = waiters
        waiters = []
        switch result {
        case .success(let listed):
            take(listed, isWhole: isLast, on: loop)
            let list = current
            for waiter in waiting { waiter(.success(list)) }
        case .failure(.gateway(let error, let payload)):
            let fault = GatewayFault(.gateway(error, payload: payload), over: gateway)
            for waiter in waiting { waiter(.failure(.gateway(fault))) }
        case .failure:
            for waiter in waiting { readKept(on: loop, completion: waiter) }
        }
    }

    private func take(_ listed: [SessionRow], isWhole: Bool, on loop: isolated EventLoop) {
        let before = rows
        var after: [String: SessionInfo] = [:]
        for row in listed {
            guard let key = row.key.map({ runs.canonical($0) }) else { continue }
            after[key.text] = info(row, key)
        }
        // The list may have been made before the event.
        for key in touched {
            guard let newer = rows[key] else {
                after[key] = nil
                continue
            }
            if let listed = after[key], (listed.updatedAt?.milliseconds ?? 0) >= (newer.updatedAt?.milliseconds ?? 0) {
                continue
            }
            after[key] = newer
        }
        rows = after
        wasListed = true
        events.changed()
        readAt = isWhole ? loop.now : nil
        keep(now: loop.wallClock)
        if hasGap {
            hasGap = false
            events.notify(.sessionsListed(before: before), on: loop)
        }
    }

    // MARK: Kept

    private func keep(now: Timestamp) {
        let sessions = current.sessions
        kept.keep(now: now) { list in for info in sessions { info.keep(in: &list) } }
    }

    private func readKept(on loop: isolated EventLoop, completion: @escaping Completion) {
        kept.read(on: loop, SessionInfo.init(kept:)) { result in
            completion(result.map { List(sessions: $0.rows, isLive: false, asOf: $0.asOf) })
        }
    }
}
