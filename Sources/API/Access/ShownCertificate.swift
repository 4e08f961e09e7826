package import Access
import Basics
package import JSONBytes

/// The facts about a listener's certificate that a device needs before it connects.
package struct ShownCertificate: Sendable, Equatable {
    package enum Source: String, Sendable {
        /// The files of `tls.cert`.
        case files
        /// Made by Ladle.
        case own
        /// Issued through tailscaled for this host's name in the tailnet.
        case tailnet
    }

    package var source: Source
    /// DNS names, without wildcards.
    package var names: [String]
    package var sha256: [UInt8]
    /// A device trusts a self-signed certificate by its SHA-256. A certificate of an authority gets another SHA-256
    /// with each renewal.
    package var isSelfSigned: Bool
    package var period: CertificatePeriod

    package init(
        source: Source,
        names: [String],
        sha256: [UInt8],
        isSelfSigned: Bool,
        period: CertificatePeriod
    ) {
        self.source = source
        self.names = names
        self.sha256 = sha256
        self.isSelfSigned = isSelfSigned
        self.period = period
    }
}

extension ShownCertificate: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("source", source.rawValue)
            object.array("names", of: names)
            object.member("sha256", Hex.encode(sha256))
            object.member("selfSigned", isSelfSigned)
            object.member("notBefore", period.notBefore)
            object.member("notAfter", period.notAfter)
        }
    }
}

/// The certificates of the listeners, and the state of the one from tailscaled.
package struct CertificateReport: Sendable, Equatable {
    /// tailscaled's last answer.
    package enum Tailnet: Sendable, Equatable {
        /// `tls.tailnet` is off.
        case unwanted
        /// tailscaled has not answered yet.
        case waiting
        case issued
        case missing(CertificateObstacle)
    }

    /// The first one is for clients that name no host, or none of the others.
    package var certificates: [ShownCertificate]
    package var tailnet: Tailnet

    package init(certificates: [ShownCertificate], tailnet: Tailnet) {
        self.certificates = certificates
        self.tailnet = tailnet
    }
}

extension CertificateReport: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.array("certificates", of: certificates)
            switch tailnet {
            case .unwanted: break
            case .waiting: object.object("tailnet") { $0.member("state", "waiting") }
            case .issued: object.object("tailnet") { $0.member("state", "issued") }
            case .missing(let obstacle):
                object.object("tailnet") { inner in
                    inner.member("state", "missing")
                    inner.member("detail", obstacle.detail)
                    inner.member("hint", obstacle.hint)
                }
            }
        }
    }
}
