package import Access
import Basics
package import EventLoops
package import Server

/// The browser rules for each listener: on TCP, exactly the host names that lead there, with the listener's port.
package final class HostRules {
    private struct Place: Hashable {
        let local: SocketAddress
        let isEncrypted: Bool
    }

    private let names: [String]
    /// Names in the certificates in use: clients may use any of them over TLS. In cleartext a name proves nothing:
    /// another machine may give it out for itself first, and then for this one.
    package var certificateNames: [String] = [] {
        didSet { known = [:] }
    }
    /// This host's names in the tailnet's DNS: they lead to its tailnet addresses, and nobody else can assign them.
    package var tailnetNames: [String] = [] {
        didSet { if tailnetNames != oldValue { known = [:] } }
    }
    private let origins: OriginList
    private let anywhere: BrowserPolicy
    private var known: [Place: BrowserPolicy] = [:]
    /// The addresses where the server listens; those with a connection's port are valid host names for it.
    package var listening: [SocketAddress] = [] {
        didSet { known = [:] }
    }

    package init(names: [String], origins: OriginList) {
        self.names = names
        self.origins = origins
        anywhere = BrowserPolicy(hosts: .any, origins: origins)
    }

    package func policy(for connection: ConnectionInfo) -> BrowserPolicy {
        guard case .ip(let address, port: let port) = connection.local else { return anywhere }
        let place = Place(local: connection.local, isEncrypted: connection.isEncrypted)
        if let policy = known[place] { return policy }
        var addresses = [address]
        for case .ip(let other, port: port) in listening where !addresses.contains(other) { addresses.append(other) }
        let hosts = HostList(
            addresses: addresses,
            port: port,
            names: names + (connection.isEncrypted ? certificateNames : []) + (address.isTailnet ? tailnetNames : []),
            tls: connection.isEncrypted
        )
        let policy = BrowserPolicy(hosts: .only(hosts), origins: origins)
        known[place] = policy
        return policy
    }
}
