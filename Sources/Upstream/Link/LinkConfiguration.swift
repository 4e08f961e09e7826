import Gateway
import Observability

/// The configuration of one link. Any change restarts the link.
package struct LinkConfiguration: Sendable, Equatable {
    package var url: GatewayURL
    package var token: String?
    package var password: String?
    /// The initialiser replaces nil with `Scopes.standard` for the host.
    package var scopes: [String]
    package var clientVersion: String
    package var displayName: String
    /// Subscribes to the events of all sessions right after each hello, before any other request.
    package var subscribesToSessions: Bool

    package init(
        url: GatewayURL,
        token: String? = nil,
        password: String? = nil,
        scopes: [String]? = nil,
        clientVersion: String,
        displayName: String = "Ladle",
        subscribesToSessions: Bool = true
    ) {
        self.url = url
        self.token = token.flatMap { $0.isEmpty ? nil : $0 }
        self.password = password.flatMap { $0.isEmpty ? nil : $0 }
        self.scopes = scopes ?? Scopes.standard(for: url.hostClass)
        self.clientVersion = clientVersion
        self.displayName = displayName
        self.subscribesToSessions = subscribesToSessions
    }
}

extension Scopes {
    /// The scopes requested by default. Admin only on loopback, where the shared token grants it anyway and a later
    /// request would need a new approval. The approvals scope is left out: if a client holds it, the host waits for
    /// that client's answers.
    package static func standard(for host: GatewayURL.HostClass) -> [String] {
        host == .loopback ? [read, write, admin] : [read, write]
    }
}
