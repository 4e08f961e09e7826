import COpenSSL

/// Owns one `EVP_PKEY`.
@safe final class KeyHandle {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    static func ed25519(seed: [UInt8]) -> KeyHandle? {
        let pointer = unsafe seed.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes.bytesOrEmpty, bytes.count)
        }
        return unsafe pointer.map { unsafe KeyHandle(owning: $0) }
    }

    static func ed25519(publicKey: [UInt8]) -> KeyHandle? {
        let pointer = unsafe publicKey.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes.bytesOrEmpty, bytes.count)
        }
        return unsafe pointer.map { unsafe KeyHandle(owning: $0) }
    }

    /// Reads an unencrypted PKCS#8, SEC 1 or PKCS#1 key. An encrypted key gives nil instead of a prompt on the
    /// terminal.
    static func privateKey(pem: [UInt8]) -> KeyHandle? {
        let memory = MemoryBIO(reading: pem)
        let pointer = unsafe PEM_read_bio_PrivateKey(memory.pointer, nil, noPassword, nil)
        return unsafe pointer.map { unsafe KeyHandle(owning: $0) }
    }

    func privateKeyPEM() throws(TLSError) -> [UInt8] {
        let memory = MemoryBIO()
        guard unsafe PEM_write_bio_PKCS8PrivateKey(memory.pointer, pointer, nil, nil, 0, nil, nil) == 1 else {
            throw TLSError.drained(.ours, "write a private key")
        }
        return memory.contents
    }
}

/// Without a password callback OpenSSL would prompt on the terminal.
private let noPassword: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 =
    { _, _, _, _ in -1 }
