import EventLoops
import Gateway
import Observability
import TestSupport

@testable import Upstream

/// Cuts a working link as soon as it is open, again and again, all on one loop; then reports the descriptors left.
final class DropDriver: UpstreamLinkHandler {
    struct Report: Sendable {
        var counters = LinkCounters()
        var gatewayConnections = 0
        var descriptorsBefore = 0
        var descriptorsAfter = 0
    }

    private var left: Int
    private let gateway: SocketGateway
    private let done: Inbox<Report>
    private var link: UpstreamLink?
    private var report = Report()

    init(drops: Int, _ gateway: SocketGateway, _ done: Inbox<Report>) {
        left = drops
        self.gateway = gateway
        self.done = done
    }

    func start(on loop: isolated EventLoop) throws {
        gateway.notesMethods = false
        let url = try GatewayURL("ws://127.0.0.1:\(gateway.port)")
        let configuration = LinkConfiguration(url: url, token: gateway.script.token, clientVersion: "1")
        let link = UpstreamLink(target: .gateway(configuration), signer: try TestSigner(), on: loop)
        self.link = link
        link.handler = self
        link.start(on: loop)
        // Keeps this alive until it is done.
        loop.after(milliseconds: 120_000) { _ = self }
    }

    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        if report.descriptorsBefore == 0 { report.descriptorsBefore = Descriptors.open() }
        left -= 1
        guard left < 0 else { return gateway.dropAll(on: loop) }
        report.counters = link?.counters ?? LinkCounters()
        report.gatewayConnections = gateway.openConnections
        report.descriptorsAfter = Descriptors.open()
        link?.stop(on: loop)
        gateway.stop(on: loop)
        done.put(report)
    }

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {
        guard status.state == .offline, status.code == "LINK_LOST" else { return }
        loop.after(milliseconds: 0) { self.link?.retryNow(on: loop) }
    }

    func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {}
    func linkLost(events: Int64, on loop: isolated EventLoop) {}
    func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {}
    func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) {}
    func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop) {}
}
