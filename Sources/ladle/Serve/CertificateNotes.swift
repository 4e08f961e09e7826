import API
import Access
import Basics

/// Says in one line for each certificate which clients get it, and until when. Printed at the start.
enum CertificateNotes {
    static func lines(_ report: CertificateReport) -> [String] {
        var lines = report.certificates.map { certificate in
            certificate.source == .tailnet
                ? "certificate of tailscaled for \(certificate.names.joined(separator: ", ")), until \(day(certificate))"
                : "certificate SHA-256 \(Hex.encode(certificate.sha256))"
        }
        if report.tailnet != .unwanted, !report.certificates.contains(where: { $0.source == .tailnet }) {
            lines.append("tailscaled is asked for the tailnet's certificate; it is used as soon as it is there")
        }
        return lines
    }

    static func day(_ certificate: ShownCertificate) -> String {
        String(certificate.period.notAfter.rfc3339.prefix(10))
    }
}
