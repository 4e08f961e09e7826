import Access
package import Basics
package import EventLoops
package import Observability
import Server

/// The limit on simultaneous connections.
package struct ConnectionLimit: Equatable {
    package var configured: Int
    /// The number of connections that the process's file descriptors allow.
    package var possible: Int

    package init(configured: Int, possible: Int) {
        self.configured = configured
        self.possible = possible
    }

    package var inForce: Int { min(configured, possible) }
}

/// The settings of the API.
package struct APISettings: Sendable {
    package var version: String
    package var isDemo: Bool
    /// This host's name, for people.
    package var hostName = "ladle"
    package var streamsPerConnection = 50
    /// The longest body of an ordinary request. Routes for larger bodies have limits of their own.
    package var bodyBytes = Route.jsonBytes
    package var connections = ConnectionLimit(configured: 20_000, possible: 20_000)
    /// The interval of keep-alives on streams that do not ask for another one.
    package var heartbeatSeconds = 15
    /// Unsent bytes at which a slow stream is closed.
    package var streamBufferBytes = 1 << 20
    /// One-tap links that decide approvals.
    package var hasApprovalLinks = false
    /// The certificates of the TCP listeners; nil without TLS.
    package var tls: @Sendable () -> CertificateReport? = { nil }
    /// Whether a TCP listener speaks TLS.
    package var isEncrypted: @Sendable (SocketAddress) -> Bool = { _ in false }
    /// This host's addresses on which devices may reach it.
    package var interfaces: @Sendable () -> [NetworkAddress] = { [] }
    package var openAI = OpenAISettings()
    package var log = Log.none

    package init(version: String, isDemo: Bool) {
        self.version = version
        self.isDemo = isDemo
    }

    /// The connection in the terms of access rules.
    func peer(_ connection: ConnectionInfo) -> Peer {
        guard case .ip(let remote, port: let port) = connection.remote else {
            return Peer(listener: connection.listener, origin: .unix(uid: connection.user))
        }
        var local = remote
        if case .ip(let address, port: _) = connection.local { local = address }
        return Peer(
            listener: connection.listener,
            local: local,
            remote: PeerAddress(ip: remote, port: port),
            uid: connection.user
        )
    }
}
