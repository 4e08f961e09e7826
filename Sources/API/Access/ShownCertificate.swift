package import Access
import Basics
package import JSONBytes

/// A certificate that a listener presents, as far as a device must know it before it connects.
package struct ShownCertificate: Sendable, Equatable {
    package enum Source: String, Sendable {
        /// The files of `tls.cert`.
        case files
        /// Ladle has made it.
        case own
        /// tailscaled has had it issued for this host's name in the tailnet.
        case tailnet
    }

    package var source: Source
    /// DNS names, without wildcards.
    package var names: [String]
    package var sha256: [UInt8]
    /// A self-signed certificate must be known by its SHA-256. One from an authority changes its SHA-256 at each
    /// renewal.
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

/// The certificates of the listeners, and how it stands with the one of tailscaled.
package struct CertificateReport: Sendable, Equatable {
    /// The answer to the last question.
    package enum Tailnet: Sendable, Equatable {
        /// `tls.tailnet` is off.
        case unwanted
        /// The first answer is still to come.
        case waiting
        case issued
        case missing(CertificateObstacle)
    }

    /// The first one is for clients that ask for no name of the others.
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
