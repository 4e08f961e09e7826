import Basics
package import EventLoops
package import Gateway
import JSONBytes
import Runs
import Store
import Upstream

/// Publishes the sessions of the gateway that came, changed or went.
package final class SessionService {
    private static let mostRemembered = 4096

    private let feed: EventFeed
    private let runs: RunService
    private let outbox: OutboxService
    private let messages: MessageService
    private var lasting: [String: [String?]] = [:]

    package init(feed: EventFeed, runs: RunService, outbox: OutboxService, messages: MessageService) {
        self.feed = feed
        self.runs = runs
        self.outbox = outbox
        self.messages = messages
    }

    /// A list was read: its sessions are known, and publish only later changes.
    package func note(_ sessions: [SessionInfo]) {
        if lasting.count + sessions.count > Self.mostRemembered { lasting.removeAll() }
        for session in sessions { lasting[session.key] = session.lasting }
    }

    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .sessionsChanged(let event) = event.payload, let written = event.sessionKey else { return }
        let key = runs.canonical(written)
        let reason = event.reason
        if reason == "reset" || reason == "delete" { messages.forget(key.text) }
        if reason == "delete" {
            lasting[key.text] = nil
            outbox.routeChanged(key.text, detail: "the session was deleted", on: loop)
            return publish(reason, SessionInfo(event.session, key: key), on: loop)
        }
        if reason == "reset", !outbox.asked(toReset: key.text, now: loop.wallClock) {
            outbox.routeChanged(key.text, detail: "the session was reset", on: loop)
        }
        let info = SessionInfo(event.session, key: key)
        // Each run changes its session twice, and has events of its own.
        guard reason != nil || lasting[key.text] != info.lasting else { return }
        note([info])
        publish(reason, info, on: loop)
    }

    private func publish(_ reason: String?, _ info: SessionInfo, on loop: isolated EventLoop) {
        feed.publish("session", session: info.key, on: loop) { object in
            object.member("reason", reason ?? "change")
            object.key("sessionInfo")
            info.write(to: &object, isActive: nil)
        }
    }
}
