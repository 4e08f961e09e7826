import COpenSSL

/// A new P-256 key with a self-signed certificate, for a host without another; clients trust it by its pin.
package struct SelfSignedCertificate: Sendable {
    package let certificatePEM: [UInt8]
    package let keyPEM: [UInt8]
    /// SHA-256 over the DER form.
    package let pin: [UInt8]

    /// The longest validity that some clients (Apple's) accept for a manually trusted certificate.
    static let maximumDays = 825

    /// - Parameter names: DNS names and IP literals; the first also becomes the subject.
    package static func make(names: [String], validDays: Int) throws(TLSError) -> SelfSignedCertificate {
        guard (1...maximumDays).contains(validDays) else {
            throw TLSError(.ours, "a self-signed certificate lasts 1 to \(maximumDays) days")
        }
        let checked = names.compactMap { CertificateName($0) }
        guard !checked.isEmpty, checked.count == names.count else {
            throw TLSError(.ours, "a name of the certificate is neither a DNS name nor an address")
        }
        ERR_clear_error()
        guard let rawKey = unsafe openssl_p256_generate(), let rawCertificate = unsafe X509_new() else {
            throw TLSError.drained(.ours, "make a key")
        }
        let key = unsafe KeyHandle(owning: rawKey)
        let certificate = unsafe CertificateHandle(owning: rawCertificate)
        guard
            fill(certificate, key: key, commonName: checked[0], validDays: validDays),
            extend(certificate, names: checked),
            unsafe X509_sign(certificate.pointer, key.pointer, EVP_sha256()) > 0
        else { throw TLSError.drained(.ours, "make a self-signed certificate") }
        return SelfSignedCertificate(
            certificatePEM: try certificate.pem(),
            keyPEM: try key.privateKeyPEM(),
            pin: certificate.sha256
        )
    }

    private static func fill(
        _ certificate: CertificateHandle,
        key: KeyHandle,
        commonName: CertificateName,
        validDays: Int
    ) -> Bool {
        // RFC 5280 §4.1.2.2: positive, at most 20 octets. 127 random bits give every new certificate a different
        // serial.
        var serial = SecureRandom.bytes(16)
        serial[0] = serial[0] & 0x7f | 0x40
        let hour = 3600
        let subject = unsafe X509_get_subject_name(certificate.pointer)
        // X.520 limits the common name to 64 characters; clients read the alternative names anyway.
        let name = Array(commonName.description.utf8.prefix(64))
        return unsafe X509_set_version(certificate.pointer, 2) == 1
            && serial.withUnsafeBufferPointer { bytes in
                guard let number = unsafe BN_bin2bn(bytes.baseAddress, Int32(bytes.count), nil) else { return false }
                defer { unsafe BN_free(number) }
                return unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.pointer)) != nil
            }
            // Validity starts an hour ago, for clients whose clock is a little slow.
            && X509_gmtime_adj(X509_getm_notBefore(certificate.pointer), -hour) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate.pointer), validDays * 24 * hour) != nil
            && name.withUnsafeBufferPointer { bytes in
                unsafe X509_NAME_add_entry_by_NID(
                    subject,
                    NID_commonName,
                    MBSTRING_UTF8,
                    bytes.baseAddress,
                    Int32(bytes.count),
                    -1,
                    0
                ) == 1
            }
            && X509_set_issuer_name(certificate.pointer, subject) == 1
            && X509_set_pubkey(certificate.pointer, key.pointer) == 1
    }

    private static func extend(_ certificate: CertificateHandle, names: [CertificateName]) -> Bool {
        let alternatives = names.map { name in
            switch name {
            case .dns(let text): "DNS:\(text)"
            case .address: "IP:\(name)"
            }
        }
        let extensions: [(Int32, String)] = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"),
            (NID_subject_key_identifier, "hash"),
            (NID_authority_key_identifier, "keyid:always"),
            (NID_subject_alt_name, alternatives.joined(separator: ",")),
        ]
        return extensions.allSatisfy { kind, value in
            guard let made = unsafe openssl_extension(certificate.pointer, kind, value) else { return false }
            defer { unsafe X509_EXTENSION_free(made) }
            return unsafe X509_add_ext(certificate.pointer, made, -1) == 1
        }
    }
}
