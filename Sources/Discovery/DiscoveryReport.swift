import Basics
package import JSONBytes

/// The output of `ladle discover`.
package struct DiscoveryReport: Sendable {
    /// The configured gateway, with the certificate pinned for it.
    package struct Pinned: Sendable {
        let host: String
        let port: UInt16
        let fingerprint: CertificateFingerprint

        package init(host: String, port: UInt16, fingerprint: CertificateFingerprint) {
            self.host = host
            self.port = port
            self.fingerprint = fingerprint
        }

        func isMeant(by gateway: DiscoveredGateway) -> Bool {
            guard port == gateway.port else { return false }
            return NetworkAddress(host).map { gateway.addresses.contains($0) } ?? (gateway.host.lowercased() == host)
        }
    }

    package let gateways: [DiscoveredGateway]
    private let service: AnnouncedService
    private let pinned: Pinned?

    package init(_ gateways: [DiscoveredGateway], of service: AnnouncedService = .gateway, pinned: Pinned? = nil) {
        self.gateways = gateways
        self.service = service
        self.pinned = pinned
    }

    private func choice(_ gateway: DiscoveredGateway) -> FingerprintChoice {
        let stored = pinned.flatMap { $0.isMeant(by: gateway) ? $0.fingerprint : nil }
        return .choose(stored: stored, announced: gateway.saidFingerprint.flatMap { CertificateFingerprint($0) })
    }

    /// One line per gateway, cut to `width` columns. Names come from the network, so characters that could control a
    /// terminal are replaced.
    package func table(width: Int = 100) -> String {
        guard !gateways.isEmpty else { return "no \(service == .gateway ? "gateway" : "Ladle") announced itself\n" }
        let rows =
            [["NAME", "URL", "HOST"]]
            + gateways.map { [Self.printable($0.displayName), Self.printable($0.url), Self.printable($0.host)] }
        let widths = (0..<2).map { column in min(rows.map { $0[column].count }.max() ?? 0, 48) }
        return rows.map { row in
            let line = "\(Self.pad(row[0], widths[0]))  \(Self.pad(row[1], widths[1]))  \(row[2])"
            return String(line.prefix(max(width, 20))) + "\n"
        }.joined() + warnings
    }

    private var warnings: String {
        gateways.map { gateway in
            guard case .storedDespite = choice(gateway) else { return "" }
            let name = Self.printable(String(gateway.displayName.prefix(48)))
            return "\(name) announces another certificate than the pinned one; the pin stays\n"
        }.joined()
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text.count > width
            ? text.prefix(width - 1) + "…" : text + String(repeating: " ", count: width - text.count)
    }

    private static func printable(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                out.append("\u{FFFD}")
            default: out.append(scalar)
            }
        }
        return String(out)
    }
}

extension DiscoveryReport: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.array(service == .gateway ? "gateways" : "ladles") { writer in
                for gateway in gateways {
                    writer.object { writer in
                        gateway.writeMembers(to: &writer)
                        switch choice(gateway) {
                        case .stored(let pin): writer.member("pin", pin.text)
                        case .storedDespite(let pin, announced: _):
                            writer.member("pin", pin.text)
                            writer.member("pinDiffers", true)
                        case .confirm, .nothing: break
                        }
                    }
                }
            }
        }
    }
}
