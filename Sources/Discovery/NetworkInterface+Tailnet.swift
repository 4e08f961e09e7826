package import Basics
package import POSIX

extension NetworkInterface {
    /// This host's own tailnet addresses, for `--listen tailnet`: IPv4 first. Carrier NAT uses Tailscale's IPv4 range
    /// on ordinary links too. If any interface has a `tailscale` name or an address in Tailscale's own IPv6 range, only
    /// the addresses of such interfaces count.
    package static func tailnetAddresses(_ interfaces: [NetworkInterface]) -> [NetworkAddress] {
        let inRange = interfaces.filter { $0.isUp && $0.address.isTailnet }
        let marked = Set(inRange.filter { !$0.address.isIPv4 || $0.name.hasPrefix("tailscale") }.map(\.name))
        let own = marked.isEmpty ? inRange : inRange.filter { marked.contains($0.name) }
        return own.map(\.address).sorted { $0.isIPv4 && !$1.isIPv4 }
    }

    /// Interfaces between this host and its own containers and virtual machines, unreachable for others.
    private static let inner = ["docker", "br-", "veth", "virbr", "lxc", "lxd", "podman", "cni"]

    /// The addresses of this host that other devices may be able to reach.
    package static func reachable(_ interfaces: [NetworkInterface]) -> [NetworkAddress] {
        interfaces.filter { one in
            one.isUp && !one.isLoopback && !one.address.isLinkLocal && !inner.contains { one.name.hasPrefix($0) }
        }.map(\.address)
    }
}
