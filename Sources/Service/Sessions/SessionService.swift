import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Runs
import Store
import Upstream

/// Publishes the sessions of the gateway that came, changed, began anew or went.
package final class SessionService {
    private static let mostRemembered = 4096

    private let feed: EventFeed
    private let runs: RunService
    private let outbox: OutboxService
    private let messages: MessageService
    private let conversations: Conversations
    private let clientName: String
    /// The sessions as last shown.
    private var known: [String: SessionInfo] = [:]

    init(
        feed: EventFeed,
        runs: RunService,
        outbox: OutboxService,
        messages: MessageService,
        conversations: Conversations,
        clientName: String
    ) {
        self.feed = feed
        self.runs = runs
        self.outbox = outbox
        self.messages = messages
        self.conversations = conversations
        self.clientName = clientName
    }

    package func load(on loop: isolated EventLoop) {
        conversations.load(on: loop) { [weak self] session in self?.began(session, on: loop) }
    }

    /// A row of a list. Its session is known now, and publishes only later changes.
    func info(_ row: SessionRow, _ key: SessionKey) -> SessionInfo {
        var info = SessionInfo(row, key: key, clientName: clientName)
        if info.title == nil { info.title = key.text }
        note(info)
        return info
    }

    private func note(_ info: SessionInfo) {
        if known.count >= Self.mostRemembered { known.removeAll() }
        known[info.key] = info
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
        guard let written = event.sessionKey else { return }
        let key = runs.canonical(written)
        var info = SessionInfo(event.session, key: key, clientName: clientName)
        switch event.reason {
        case "delete":
            known[key.text] = nil
            conversations.begin(nil, in: key.text, now: loop.wallClock)
            messages.begin(key.text, on: loop)
            outbox.routeChanged(key.text, detail: "the session was deleted", on: loop)
            return publish("delete", info, on: loop)
        case "reset":
            conversations.begin(event.session.sessionId, in: key.text, now: loop.wallClock)
            note(info)
            if !outbox.asked(toReset: key.text, now: loop.wallClock) {
                outbox.routeChanged(key.text, detail: "the session was reset", on: loop)
            }
            began(key.text, on: loop)
        case let reason:
            see(event.session.sessionId, in: key, on: loop)
            let last = known[key.text]
            // Events have no title of a first message.
            info.title = info.title ?? last?.title
            note(info)
            // Each run changes its session twice, and has events of its own.
            if reason != nil || last?.lasting != info.lasting { publish(reason ?? "change", info, on: loop) }
        }
    }

    private func see(_ id: String?, in key: SessionKey, on loop: isolated EventLoop) {
        guard let id, conversations.see(id, in: key.text, now: loop.wallClock) == .new else { return }
        began(key.text, on: loop)
    }

    /// The session goes on with another conversation: what was kept belongs to the former one. What waits is sent all the same,
    /// unless somebody reset the session: a gateway that was killed before it wrote anything also begins anew.
    func began(_ session: String, on loop: isolated EventLoop) {
        messages.begin(session, on: loop)
        var info = known[session] ?? SessionInfo(key: SessionKey(canonical: session))
        info.title = info.label ?? session
        info.preview = nil
        if known[session] != nil { note(info) }
        publish("reset", info, on: loop)
    }

    private func publish(_ reason: String, _ info: SessionInfo, on loop: isolated EventLoop) {
        feed.publish("session", session: info.key, on: loop) { object in
            object.member("reason", reason)
            object.key("sessionInfo")
            info.write(to: &object, isActive: nil)
        }
    }
}
