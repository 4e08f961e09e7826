package import Basics
import JSONBytes

/// A gateway that announced itself, or another Ladle. SRV and address records state where to connect; all values from TXT are
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
    package let service: AnnouncedService

    package init(
        name: String,
        host: String,
        port: UInt16,
        addresses: [NetworkAddress],
        hints: [String: String],
        source: Source,
        service: AnnouncedService = .gateway
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.addresses = addresses
        self.hints = hints
        self.source = source
        self.service = service
    }

    package var displayName: String { hints["displayName"] ?? name }

    /// Whether the gateway announces TLS; otherwise the connection is plain.
    var saysTLS: Bool {
        switch service {
        case .gateway: hints["gatewayTls"] == "1" || hints["gatewayTls"] == "true"
        case .ladle: hints["tls"] == "1"
        }
    }

    var saidFingerprint: String? {
        switch service {
        case .gateway: hints["gatewayTlsSha256"].flatMap { CertificateFingerprint($0)?.text }
        case .ladle:
            hints["fp"].flatMap { Base64.decode($0, as: .url) }.flatMap { $0.count == 32 ? Hex.encode($0) : nil }
        }
    }

    /// The address for `--gateway`, or for `--url` of a client. It is numeric where possible, because `.local` names need a
    /// multicast resolver.
    package var url: String {
        let place = addresses.first?.hostText ?? host
        let scheme = service == .gateway ? (saysTLS ? "wss" : "ws") : (saysTLS ? "https" : "http")
        return "\(scheme)://\(place):\(port)"
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
