package import Basics

/// The exact `Host` values of a listener. They prevent DNS rebinding, where a page's own name resolves to us.
package struct HostList: Sendable, Equatable {
    /// In lower case, with the port; a default port also without it.
    private let accepted: [String]

    /// A name is accepted with the listener's port and, for a proxy at the scheme's default port, without one; a name
    /// with a port is accepted as given. `0.0.0.0` and `::` name no host and are never accepted.
    package init(addresses: [NetworkAddress], port: UInt16, names: [String] = [], tls: Bool = false) {
        var hosts = ["localhost", "[::1]"]
        hosts += addresses.filter { !$0.isUnspecified }.map(\.hostText)
        let own = names.map { $0.lowercased() }
        let bare = own.filter { !$0.contains(":") || $0.hasSuffix("]") }
        hosts += bare
        let withoutPort = port == (tls ? 443 : 80)
        var list: [String] = []
        for host in hosts where !list.contains("\(host):\(port)") {
            list.append("\(host):\(port)")
            if withoutPort { list.append(host) }
        }
        accepted = list + own.filter { !list.contains($0) }
    }

    package func contains(_ host: String) -> Bool {
        if accepted.contains(host) { return true }
        // Host names are compared without case (RFC 9110 §4.2.3); clients that capitalise are rare.
        let bytes = host.utf8
        guard bytes.count <= 255, bytes.contains(where: { $0 >= 0x41 && $0 <= 0x5A }) else { return false }
        return accepted.contains(host.lowercased())
    }

    package var list: [String] { accepted }
}
