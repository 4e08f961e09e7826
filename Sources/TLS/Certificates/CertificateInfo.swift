package import Basics
import COpenSSL

/// The facts about a certificate that an operator needs, read from PEM.
package struct CertificateInfo: Equatable, Sendable {
    package let names: [CertificateName]
    package let notBefore: Timestamp
    package let notAfter: Timestamp
    /// SHA-256 over the DER form.
    package let sha256: [UInt8]
    /// Subject and issuer are the same: no authority vouches for it.
    package let isSelfSigned: Bool

    /// Reads the first certificate of a PEM text: in a chain file, the server's own.
    package init(pem: [UInt8]) throws(TLSError) {
        // `all` never returns an empty list.
        self.init(try CertificateHandle.all(inPEM: pem)[0])
    }

    init(_ certificate: CertificateHandle) {
        names = certificate.alternativeNames
        notBefore = unsafe Self.timestamp(X509_get0_notBefore(certificate.pointer))
        notAfter = unsafe Self.timestamp(X509_get0_notAfter(certificate.pointer))
        sha256 = certificate.sha256
        isSelfSigned =
            unsafe X509_NAME_cmp(
                X509_get_subject_name(certificate.pointer),
                X509_get_issuer_name(certificate.pointer)
            ) == 0
    }

    /// Converts a time. An unreadable one becomes 1970, so that its certificate counts as expired.
    @unsafe private static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp {
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { return Timestamp(milliseconds: 0) }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return Timestamp(milliseconds: 0) }
        return Timestamp(milliseconds: (Int64(days) * 86_400 + Int64(seconds)) * 1000)
    }
}
