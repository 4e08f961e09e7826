package import EventLoops
package import Gateway
package import Observability
package import Upstream

/// Turns the link's events into events of the services. The log gets one line for each change that matters, not one for
/// each attempt while the gateway is away.
package final class GatewayEvents: UpstreamLinkHandler {
    private let events: ServiceEvents
    private let outbox: OutboxService
    private let log: Log
    private var logged: LinkStatus?

    package init(link: UpstreamLink, events: ServiceEvents, outbox: OutboxService, log: Log) {
        self.events = events
        self.outbox = outbox
        self.log = log
        link.handler = self
    }

    package func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        writeLog(status)
        events.notify(.linkChanged(status), on: loop)
    }

    package func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        events.notify(.linkOpened(hello), on: loop)
    }

    package func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {
        events.notify(.gatewayEvent(event), on: loop)
    }

    package func linkLost(events count: Int64, on loop: isolated EventLoop) {
        events.notify(.framesLost, on: loop)
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
        let isExpected = status.state.isConnected || status.code == LinkStatus.stoppedCode
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
