import Basics
package import EventLoops
package import Gateway
package import Observability
package import Upstream

/// Turns the link's events into events of the services. The log gets one line for each change that matters, not one for
/// each attempt while the gateway is away.
package final class GatewayEvents: UpstreamLinkHandler {
    /// The possible remaining difference between two clocks after comparison.
    package static let slackMilliseconds: Int64 = 2000
    /// The maximum age of events lost in a gap.
    private static let gapMilliseconds: Int64 = 60_000

    private unowned let link: UpstreamLink
    private let events: ServiceEvents
    private let outbox: OutboxService
    private let log: Log
    private var wasOnline = false
    private var lostAt: Timestamp?
    private var logged: LinkStatus?

    package init(link: UpstreamLink, events: ServiceEvents, outbox: OutboxService, log: Log) {
        self.link = link
        self.events = events
        self.outbox = outbox
        self.log = log
        link.handler = self
    }

    package func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        writeLog(status)
        if wasOnline, status.state != .online {
            wasOnline = false
            lostAt = link.gatewayTime(on: loop)
        }
        events.notify(.linkChanged(status), on: loop)
    }

    package func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        wasOnline = true
        events.notify(.linkOpened(hello), on: loop)
        if let lostAt {
            events.notify(.eventsMissed(since: lostAt.adding(milliseconds: -Self.slackMilliseconds)), on: loop)
        }
        lostAt = nil
    }

    package func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {
        events.notify(.gatewayEvent(event), on: loop)
    }

    package func linkLost(events count: Int64, on loop: isolated EventLoop) {
        events.notify(.framesLost, on: loop)
        let since = link.gatewayTime(on: loop).adding(milliseconds: -Self.gapMilliseconds)
        events.notify(.eventsMissed(since: since), on: loop)
    }

    package func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {
        outbox.learned(outcome, of: call, on: loop)
    }

    package func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) {
        events.notify(.tokensIssued(tokens), on: loop)
    }

    package func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop) {
        events.notify(.frameLogged(entry), on: loop)
    }

    private func writeLog(_ status: LinkStatus) {
        let isNews = status.state != logged?.state || status.code != logged?.code
        guard isNews, status.state != .connecting else { return }
        logged = status
        // Ladle itself closes the link when it stops.
        let isExpected = status.state == .online || status.code == LinkStatus.stoppedCode
        log.write(
            isExpected ? .notice : .warning,
            "link.\(status.state.rawValue)",
            [
                "url": .string(status.url), "code": .string(status.code), "detail": .string(status.detail),
                "hint": .string(status.hint), "protocol": status.protocolVersion.map { .int($0) } ?? .absent,
                "gateway": .string(status.gatewayVersion),
                "scopes": status.scopes.isEmpty ? .absent : .string(status.scopes.joined(separator: ",")),
            ]
        )
    }
}
