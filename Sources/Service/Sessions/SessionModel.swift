package import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
import Runs
import Store

/// The gateway's sessions as Ladle knows them: the last list, kept current by the gateway's events. A read that finds
/// it fresh sends no call. The list is also stored in the database, for times without the gateway.
package final class SessionModel {
    /// The sessions in the gateway's order: the last changed first.
    package typealias List = ShownList<SessionInfo>

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
    private var rows: [SessionKey: SessionInfo] = [:]
    private let list: KeptList<SessionInfo>
    /// Sessions that events changed while a list was on its way.
    private var touched: Set<SessionKey> = []

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents, runs: RunService, clientName: String) {
        self.gateway = gateway
        self.feed = feed
        list = KeptList("sessions", feed: feed)
        self.events = events
        self.runs = runs
        self.clientName = clientName
    }

    // MARK: Rows

    /// Before the first list, new sessions cannot be told from old ones.
    var wasListed: Bool { list.wasListed }

    subscript(key: String) -> SessionInfo? { rows[key] }

    /// Whether the gateway is known to have the session.
    package func has(_ key: SessionKey) -> Bool { rows[key] != nil }

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
            list.expire()
        }
        rows[info.key] = info
        events.changed()
        if list.isAsking { touched.insert(SessionKey(canonical: info.key)) }
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
        if list.isAsking { touched.insert(SessionKey(canonical: key)) }
    }

    /// Marks the list outdated after a change that no event describes.
    func invalidate() {
        list.expire()
        list.isOutdated = true
        events.changed()
    }

    /// An event's row, completed with the members that events leave out.
    func merged(_ row: SessionRow, _ key: SessionKey) -> SessionInfo {
        var info = SessionInfo(row, key: key, clientName: clientName)
        guard let last = rows[key.text], last.sessionID == info.sessionID || info.sessionID == nil else {
            list.expire()
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
        list.expire()
        info.sessionID = last.sessionID
        info.updatedAt = info.updatedAt ?? last.updatedAt
        return info
    }

    // MARK: The link

    func linkOpened(on loop: isolated EventLoop) {
        if list.restart() || wasListed { ask(on: loop) }
    }

    // MARK: Reading

    /// Reads all sessions, whichever part is wanted.
    package func read(refresh: Bool = false, on loop: isolated EventLoop, completion: @escaping Completion) {
        let tells = gateway.profile?.offers(.eventsSessions) ?? false
        list.read(
            sorted,
            forMs: tells ? Self.lifeWithEventsMs : Self.lifeWithoutEventsMs,
            refresh: refresh,
            over: gateway,
            on: loop,
            ask: { ask(on: loop) },
            completion: completion
        )
    }

    private var sorted: [SessionInfo] {
        rows.values.sorted {
            ($0.updatedAt?.milliseconds ?? 0, $1.key) > ($1.updatedAt?.milliseconds ?? 0, $0.key)
        }
    }

    private func ask(on loop: isolated EventLoop) {
        touched = []
        let number = list.ask()
        let call = SessionsList(limit: Self.mostSessions, includeDerivedTitles: true, includeLastMessage: true)
        gateway.call(call, on: loop) { [weak self] in self?.answered($0, number, on: loop) }
    }

    private func answered(_ result: Result<[SessionRow], CallFailure>, _ number: Int, on loop: isolated EventLoop) {
        guard list.isLast(number) else { return }
        switch result {
        case .success(let listed):
            take(listed, on: loop)
            list.answer(sorted)
        case .failure(.gateway(let error, let payload)):
            list.failed(GatewayFault(.gateway(error, payload: payload), over: gateway), on: loop)
        case .failure: list.failed(.unanswered, on: loop)
        }
    }

    private func take(_ listed: [SessionRow], on loop: isolated EventLoop) {
        let before = rows
        var after: [SessionKey: SessionInfo] = [:]
        for row in listed {
            guard let key = row.key.map({ runs.canonical($0) }) else { continue }
            after[key] = info(row, key)
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
        let hasGap = list.listed(on: loop)
        events.changed()
        list.keep(sorted, now: loop.wallClock)
        if hasGap { events.notify(.sessionsListed(before: before), on: loop) }
    }
}
