import Observability
import Gateway
import Upstream

extension GatewayEvents {
    /// One line a change that means something: not one a try while the gateway is away.
    func tellLog(_ status: LinkStatus) {
        let isNews = status.state != loggedLink?.state || status.code != loggedLink?.code
        guard isNews, status.state != .connecting else { return }
        loggedLink = status
        log.write(
            status.state == .online ? .notice : .warning,
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
