package import Basics
import JSONBytes

/// A gateway that announced itself. SRV and address records state where to connect; all values from TXT are
/// unauthenticated hints.
package struct DiscoveredGateway: Sendable, Equatable {
    package enum Source: Sendable, Equatable {
        case multicast
        case domain(String)
    }

    package let name: String
    package let host: String
    package let port: UInt16
    package let addresses: [NetworkAddress]
    package let hints: [String: String]
    package let source: Source

    package init(
        name: String,
        host: String,
        port: UInt16,
        addresses: [NetworkAddress],
        hints: [String: String],
        source: Source
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.addresses = addresses
        self.hints = hints
        self.source = source
    }

    package var displayName: String { hints["displayName"] ?? name }

    /// The gateway announces TLS; without that announcement the connection is plain.
    var saysTLS: Bool { hints["gatewayTls"] == "1" || hints["gatewayTls"] == "true" }

    var saidFingerprint: String? { hints["gatewayTlsSha256"].flatMap { CertificateFingerprint($0)?.text } }

    /// The address for `--gateway`. It is numeric where possible, because `.local` names need a multicast resolver.
    package var url: String {
        let place = addresses.first?.hostText ?? host
        return "\(saysTLS ? "wss" : "ws")://\(place):\(port)"
    }
}

extension DiscoveredGateway {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("displayName", displayName)
        writer.member("host", host)
        writer.member("port", port)
        writer.array("addresses", of: addresses.map(\.description))
        writer.member("url", url)
        writer.member("tls", saysTLS)
        writer.member("fingerprint", saidFingerprint)
        switch source {
        case .multicast: writer.member("source", "mdns")
        case .domain(let domain):
            writer.member("source", "dns-sd")
            writer.member("domain", domain)
        }
        writer.object("hints") { writer in
            for (key, value) in hints.sorted(by: { $0.key < $1.key }) { writer.member(key, value) }
        }
    }
}
