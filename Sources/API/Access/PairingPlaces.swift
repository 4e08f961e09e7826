import Access
package import Basics
package import EventLoops

/// The addresses at which a device reaches this Ladle, best first: the tailnet before the network, encrypted before
/// cleartext.
package struct PairingPlaces: Sendable, Equatable {
    /// The range from which an address can be reached.
    package enum Reach: String, Sendable, Comparable {
        case tailnet, network
        /// Reachable only by programs on this host.
        case host
        case nowhere

        private var order: Int {
            switch self {
            case .tailnet: 0
            case .network: 1
            case .host: 2
            case .nowhere: 3
            }
        }

        package static func < (left: Reach, right: Reach) -> Bool { left.order < right.order }
    }

    struct Place: Sendable, Equatable {
        /// The host, in brackets if it is an IPv6 address.
        var host: String
        var port: UInt16
        var reach: Reach
        var certificate: ShownCertificate?

        var url: String { "\(certificate == nil ? "http" : "https")://\(host):\(port)" }

        /// The certificate's SHA-256, which a device trusts; nil if an authority signed the certificate.
        var pin: String? {
            certificate.flatMap { $0.isSelfSigned ? Base64.encode($0.sha256, as: .url) : nil }
        }
    }

    /// One address per reach: a phone at home may be in the tailnet or not.
    let places: [Place]

    /// - Parameters:
    ///   - listening: the addresses of all listeners.
    ///   - interfaces: this host's addresses, for a listener on all of them.
    ///   - tailnetNames: this host's names in the tailnet.
    ///   - certificates: the certificates of a listener; empty in cleartext.
    package init(
        listening: [SocketAddress],
        interfaces: [NetworkAddress],
        tailnetNames: [String],
        now: Timestamp,
        certificates: (SocketAddress) -> [ShownCertificate]
    ) {
        var found: [Place] = []
        for listener in listening {
            guard case .ip(let address, port: let port) = listener else { continue }
            let shown = certificates(listener)
            let addresses =
                address.isUnspecified ? interfaces.filter { $0.isIPv4 == address.isIPv4 } : [address]
            for address in addresses where !address.isLinkLocal {
                let reach: Reach = address.isLoopback ? .host : address.isTailnet ? .tailnet : .network
                let (name, certificate) = Self.choice(for: reach, shown, tailnetNames, now)
                found.append(
                    Place(host: name ?? address.hostText, port: port, reach: reach, certificate: certificate)
                )
            }
        }
        var best: [Place] = []
        // In the order of the configured listeners, but IPv4 first: it is shorter in a QR code.
        for place in found.filter({ !$0.host.hasPrefix("[") }) + found.filter({ $0.host.hasPrefix("[") }) {
            guard let known = best.firstIndex(where: { $0.reach == place.reach }) else {
                best.append(place)
                continue
            }
            if best[known].certificate == nil, place.certificate != nil { best[known] = place }
        }
        best.sort { $0.reach < $1.reach }
        if best.count > 1 { best.removeAll { $0.reach == .host } }
        places = best
    }

    /// Authorities sign names, not addresses, so a device in the tailnet uses a name if there is one. A request by
    /// address gets the first certificate.
    private static func choice(
        for reach: Reach,
        _ certificates: [ShownCertificate],
        _ tailnetNames: [String],
        _ now: Timestamp
    ) -> (name: String?, ShownCertificate?) {
        if reach == .tailnet {
            for certificate in certificates where !certificate.isSelfSigned && now < certificate.period.notAfter {
                // tailscaled named this host before the certificate was issued, and may not answer now.
                let isNamed = certificate.source == .tailnet && tailnetNames.isEmpty
                let own = certificate.names.first { isNamed || tailnetNames.contains($0) }
                if let own { return (own, certificate) }
            }
        }
        guard let first = certificates.first else { return (nil, nil) }
        return (first.isSelfSigned ? nil : first.names.first, first)
    }

    package var reach: Reach { places.first?.reach ?? .nowhere }
    package var urls: [String] { places.map(\.url) }

    /// `ladle://HOST:PORT/?tls=1&pin=…&secret=…&also=HOST:PORT`; nil if no listener uses TCP.
    package func link(secret: String) -> String? {
        guard let first = places.first else { return nil }
        var text = "ladle://\(first.host):\(first.port)/?tls=\(first.certificate == nil ? 0 : 1)"
        if let pin = first.pin { text += "&pin=\(pin)" }
        text += "&secret=\(secret)"
        // The encryption and pin of the first address apply to the others too.
        for place in places.dropFirst()
        where place.pin == first.pin && (place.certificate == nil) == (first.certificate == nil) {
            let host = place.host.replacing("[", with: "%5B").replacing("]", with: "%5D")
            let also = "\(host):\(place.port)"
            if place.host != first.host || place.port != first.port { text += "&also=\(also)" }
        }
        return text
    }
}
