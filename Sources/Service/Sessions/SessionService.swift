import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Runs
import Store
import Upstream

/// Publishes sessions of the gateway that were created, changed, reset or deleted.
package final class SessionService {
    enum Reason: String {
        case created, changed, renamed, reset, deleted, compacted, archived

        /// Clients must reload something, so the event is published at once, and no later one replaces it.
        var isTurn: Bool { self == .created || self == .reset || self == .deleted }
    }

    /// An event to publish.
    private struct News {
        var reason: Reason
        var info: SessionInfo
        /// The names of the members that changed, as far as they are known.
        var changes: [String] = []
    }

    /// An event published within the last second, with the one to publish next.
    private struct LastEvent {
        let number: Int
        let reason: Reason
        let conversation: String?
        /// The event to publish after the second; nil if nothing changed meanwhile.
        var next: News?
    }

    /// The shortest time between two events of a session; repeats of the same news are dropped.
    private static let pauseMs: Int64 = 1_000

    private let feed: EventFeed
    private let runs: RunService
    private let outbox: OutboxService
    private let messages: MessageReader
    private let marks: ReadMarks
    private let conversations: Conversations
    private let model: SessionModel
    /// Sessions with an event in the last second.
    private var lastEvents: [SessionKey: LastEvent] = [:]
    private var published = 0
    /// The new conversations of sessions that were reset.
    private var resets: [SessionKey: String] = [:]

    init(
        feed: EventFeed,
        runs: RunService,
        outbox: OutboxService,
        messages: MessageReader,
        marks: ReadMarks,
        conversations: Conversations,
        model: SessionModel
    ) {
        self.feed = feed
        self.runs = runs
        self.outbox = outbox
        self.messages = messages
        self.marks = marks
        self.conversations = conversations
        self.model = model
    }

    package func load(on loop: isolated EventLoop) {
        conversations.load(on: loop) { [weak self] session in self?.began(session, on: loop) }
    }

    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        switch event.payload {
        case .sessionsChanged(let event): changed(event, on: loop)
        case .sessionMessage(let event):
            if let written = event.sessionKey { see(event.session.sessionId, in: runs.canonical(written), on: loop) }
        default: return
        }
    }

    private func changed(_ event: SessionsChangedEvent, on loop: isolated EventLoop) {
        // An event without a key: the whole list may have changed.
        guard let written = event.sessionKey else { return model.invalidate() }
        let key = runs.canonical(written)
        let last = model[key.text]
        // The event may be about a conversation that another one has replaced.
        if event.reason == "delete", let gone = event.conversation, let now = last?.sessionID, gone != now { return }
        if event.reason == "delete" { return deleted(last ?? model.info(named: key), on: loop) }
        let info = model.merged(event.session, key)
        switch event.reason {
        case "reset", "new": reset(info, event.session.sessionId, on: loop)
        case let reason:
            see(event.session.sessionId, in: key, on: loop)
            model.note(info)
            switch reason {
            case "create":
                model.invalidate()
                publish(.created, info, on: loop)
            case "compact": publish(.compacted, info, on: loop)
            case nil:
                // The first message gives the session a title, which no event carries.
                if event.phase == .end, info.titleFrom == .key { model.invalidate() }
                publishDifference(last, info, on: loop)
            default: publishDifference(last, info, on: loop)
            }
        }
    }

    private func see(_ id: String?, in key: SessionKey, on loop: isolated EventLoop) {
        guard let id, conversations.see(id, in: key.text, now: loop.wallClock) == .new else { return }
        began(key.text, on: loop)
    }

    /// Starts a new conversation in the session; cached data belongs to the previous one. Waiting messages are still
    /// sent unless somebody reset the session: a gateway that was killed before its first write also starts a new
    /// conversation.
    func began(_ session: String, on loop: isolated EventLoop) {
        messages.begin(session, on: loop)
        marks.begin(session)
        model.invalidate()
        var info = model[session] ?? model.info(named: SessionKey(canonical: session))
        info.preview = nil
        info.sessionID = conversations.current(in: session) ?? info.sessionID
        if info.titleFrom == .derived { info.nameAfterKey() }
        if model[session] != nil { model.note(info) }
        publish(.reset, info, on: loop)
    }

    // MARK: Changes by Ladle

    /// Publishes a change requested through Ladle; the gateway's own event about it, if any, is not published again.
    func patched(_ info: SessionInfo, on loop: isolated EventLoop) {
        let last = model[info.key]
        model.note(info)
        publishDifference(last, info, on: loop)
    }

    func created(_ info: SessionInfo, on loop: isolated EventLoop) {
        model.note(info)
        publish(.created, info, on: loop)
    }

    func compacted(_ info: SessionInfo, on loop: isolated EventLoop) {
        model.note(info)
        publish(.compacted, info, on: loop)
    }

    /// - Parameter id: the new conversation behind the key; nil if unknown.
    func reset(_ info: SessionInfo, _ id: String?, on loop: isolated EventLoop) {
        let key = info.key
        // The answer and the gateway's event report the same reset.
        if let id {
            if resets[key] == id { return }
            if resets.count >= SessionModel.mostSessions { resets = [:] }
            resets[key] = id
        }
        let isSeen = id != nil && conversations.current(in: key) == id && conversations.begun(in: key) != nil
        if !isSeen { conversations.begin(id, in: key, now: loop.wallClock) }
        model.note(info)
        if !outbox.asked(toReset: info.key, now: loop.wallClock) {
            outbox.routeChanged(info.key, detail: "the session was reset", on: loop)
        }
        runs.conversationEnded(info.key, on: loop)
        if !isSeen { began(info.key, on: loop) }
    }

    func deleted(_ info: SessionInfo, on loop: isolated EventLoop) {
        model.remove(info.key)
        conversations.begin(nil, in: info.key, now: loop.wallClock)
        messages.begin(info.key, on: loop)
        marks.begin(info.key)
        outbox.routeChanged(info.key, detail: "the session was deleted", on: loop)
        runs.conversationEnded(info.key, on: loop)
        publish(.deleted, info, on: loop)
    }

    // MARK: Publishing

    /// Publishes the changes whose events were lost while the link was down.
    func compare(_ before: [SessionKey: SessionInfo], on loop: isolated EventLoop) {
        let after = model.sessions
        for info in after {
            see(info.sessionID, in: SessionKey(canonical: info.key), on: loop)
            if let last = before[info.key] {
                publishDifference(last, info, on: loop)
            } else {
                publish(.created, info, on: loop)
            }
        }
        // A list at its limit may lack sessions that still exist.
        guard after.count < SessionModel.mostSessions else { return }
        let left = SessionSet(after.map(\.key))
        for (key, info) in before where !left.contains(key.text) { deleted(info, on: loop) }
    }

    /// Publishes lasting changes only: counters, previews and runs change several times per run and have events of
    /// their own.
    private func publishDifference(_ last: SessionInfo?, _ info: SessionInfo, on loop: isolated EventLoop) {
        let changes = info.changes(since: last)
        guard last == nil || !changes.isEmpty else { return }
        guard last != nil || !model.wasListed else { return publish(.created, info, on: loop) }
        let isArchived = info.isArchived == true && last?.isArchived != true
        let isRenamed = last != nil && last?.label != info.label
        let reason: Reason = isArchived ? .archived : isRenamed ? .renamed : .changed
        publish(reason, info, last == nil ? [] : changes, on: loop)
    }

    private func publish(_ reason: Reason, _ info: SessionInfo, _ changes: [String] = [], on loop: isolated EventLoop) {
        let news = News(reason: reason, info: info, changes: changes)
        guard let last = lastEvents[info.key] else { return publishNow(news, on: loop) }
        if reason.isTurn {
            // The same change, reported by both the gateway's event and its answer.
            if last.reason == reason, reason == .deleted || last.conversation == info.sessionID { return }
            return publishNow(news, on: loop)
        }
        if last.next == nil, last.reason == reason, reason == .compacted { return }
        let first = last.next?.reason ?? reason
        let earlier = last.next?.changes ?? []
        lastEvents[info.key]?.next = News(
            reason: first == .changed ? reason : first,
            info: info,
            changes: earlier + changes.filter { !earlier.contains($0) }
        )
    }

    private func publishNow(_ news: News, on loop: isolated EventLoop) {
        published += 1
        let (key, number, info) = (news.info.key, published, news.info)
        lastEvents[key] = LastEvent(number: number, reason: news.reason, conversation: info.sessionID)
        feed.publish("session", session: info.key, on: loop) { object in
            object.member("reason", news.reason.rawValue)
            if !news.changes.isEmpty { object.array("changes", of: news.changes) }
            object.key("sessionInfo")
            info.write(to: &object, isActive: nil)
        }
        loop.after(milliseconds: Self.pauseMs) { [weak self] in self?.secondPassed(key, number, on: loop) }
    }

    private func secondPassed(_ key: String, _ number: Int, on loop: isolated EventLoop) {
        guard lastEvents[key]?.number == number, let next = lastEvents.removeValue(forKey: key)?.next else { return }
        publishNow(next, on: loop)
    }
}
