import COpenSSL

/// Owns one `X509`.
@safe final class CertificateHandle {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// Reads all certificates of a PEM text in order and skips other blocks, such as a key in the same file.
    static func all(inPEM pem: [UInt8]) throws(TLSError) -> [CertificateHandle] {
        let memory = MemoryBIO(reading: pem)
        ERR_clear_error()
        var found: [CertificateHandle] = []
        while let pointer = unsafe PEM_read_bio_X509(memory.pointer, nil, nil, nil) {
            unsafe found.append(CertificateHandle(owning: pointer))
        }
        // OpenSSL reports the end of the text as "no start line"; any other error means a damaged block.
        let last = ERR_peek_last_error()
        guard !found.isEmpty, ERR_GET_LIB(last) == ERR_LIB_PEM, ERR_GET_REASON(last) == PEM_R_NO_START_LINE else {
            throw TLSError.drained(.ours, "read certificates from PEM")
        }
        ERR_clear_error()
        return found
    }

    /// SHA-256 over the DER form, which clients pin.
    var sha256: [UInt8] {
        unsafe Self.sha256(of: pointer)
    }

    @unsafe static func sha256(of certificate: OpaquePointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            var length: UInt32 = 0
            let done = unsafe X509_digest(certificate, EVP_sha256(), output.baseAddress, &length)
            count = done == 1 ? Int(length) : 0
        }
    }

    func pem() throws(TLSError) -> [UInt8] {
        let memory = MemoryBIO()
        guard unsafe PEM_write_bio_X509(memory.pointer, pointer) == 1 else {
            throw TLSError.drained(.ours, "write a certificate")
        }
        return memory.contents
    }

    /// The DNS names and addresses of the subjectAltName extension; other kinds of names are left out.
    var alternativeNames: [CertificateName] {
        guard let raw = unsafe X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil) else { return [] }
        let names = OpaquePointer(raw)
        defer { unsafe GENERAL_NAMES_free(names) }
        let count = unsafe openssl_names_count(names)
        return (0..<max(count, 0)).compactMap { index in
            var bytes: UnsafePointer<UInt8>?
            var count: Int32 = 0
            let kind = unsafe openssl_name_at(names, index, &bytes, &count)
            guard let bytes = unsafe bytes, count > 0 else { return nil }
            let value = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
            switch kind {
            case GEN_DNS: return .dns(String(decoding: value, as: UTF8.self).lowercased())
            case GEN_IPADD: return .address(value)
            default: return nil
            }
        }
    }
}
