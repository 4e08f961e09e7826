import COpenSSL

/// An Ed25519 private key (RFC 8032) as its 32-byte seed.
///
/// The value holds the seed and makes the library's key at each use. Signing is rare (once per connection attempt), and
/// plain bytes are Sendable without promises about C objects.
package struct Ed25519PrivateKey: Equatable, Sendable {
    static let seedLength = 32

    /// The secret itself: it may be stored but never logged.
    package let seed: [UInt8]
    package let publicKey: Ed25519PublicKey

    package init(seed: [UInt8]) throws(TLSError) {
        guard seed.count == Self.seedLength else { throw TLSError(.ours, "an Ed25519 seed has 32 bytes") }
        guard let key = KeyHandle.ed25519(seed: seed) else { throw TLSError.drained(.ours, "make an Ed25519 key") }
        var length = 32
        let raw = unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            let done = unsafe EVP_PKEY_get_raw_public_key(key.pointer, output.baseAddress, &length)
            count = done == 1 ? length : 0
        }
        guard raw.count == 32 else { throw TLSError.drained(.ours, "read an Ed25519 public key") }
        self.seed = seed
        publicKey = Ed25519PublicKey(unchecked: raw)
    }

    /// Reads unencrypted PKCS#8 PEM.
    package init(pem: [UInt8]) throws(TLSError) {
        guard let key = KeyHandle.privateKey(pem: pem) else { throw TLSError.drained(.ours, "read a private key") }
        var length = 32
        var isEd25519 = false
        let seed = unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            isEd25519 =
                unsafe EVP_PKEY_get_id(key.pointer) == EVP_PKEY_ED25519
                && EVP_PKEY_get_raw_private_key(key.pointer, output.baseAddress, &length) == 1
            count = isEd25519 ? length : 0
        }
        guard isEd25519 else { throw TLSError.drained(.ours, "the private key is not Ed25519") }
        try self.init(seed: seed)
    }

    package static func generate() throws(TLSError) -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: SecureRandom.bytes(seedLength))
    }

    /// Returns a 64-byte signature; the same message gives the same signature.
    package func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        guard let key = KeyHandle.ed25519(seed: seed) else { throw TLSError.drained(.ours, "make an Ed25519 key") }
        let context = DigestContext()
        var length = 64
        let signature = unsafe message.withUnsafeBytes { message in
            unsafe [UInt8](unsafeUninitializedCapacity: 64) { output, count in
                let done =
                    unsafe EVP_DigestSignInit(context.pointer, nil, nil, nil, key.pointer) == 1
                    && EVP_DigestSign(
                        context.pointer,
                        output.baseAddress,
                        &length,
                        message.bytesOrEmpty,
                        message.count
                    ) == 1
                count = done ? length : 0
            }
        }
        guard signature.count == 64 else { throw TLSError.drained(.ours, "sign with Ed25519") }
        return signature
    }

    /// The key as PKCS#8 PEM text.
    package func pem() throws(TLSError) -> [UInt8] {
        guard let key = KeyHandle.ed25519(seed: seed) else { throw TLSError.drained(.ours, "make an Ed25519 key") }
        return try key.privateKeyPEM()
    }
}

/// An Ed25519 public key as its 32 raw bytes.
package struct Ed25519PublicKey: Hashable, Sendable {
    package let raw: [UInt8]

    package init(raw: [UInt8]) throws(TLSError) {
        guard raw.count == 32 else { throw TLSError(.ours, "an Ed25519 public key has 32 bytes") }
        self.raw = raw
    }

    init(unchecked raw: [UInt8]) {
        self.raw = raw
    }

    /// False when the signature is wrong or has a wrong length, or when the key is not a point of the curve.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64, let key = KeyHandle.ed25519(publicKey: raw) else {
            ERR_clear_error()
            return false
        }
        let context = DigestContext()
        let valid = unsafe message.withUnsafeBytes { message in
            unsafe signature.withUnsafeBytes { signature in
                unsafe EVP_DigestVerifyInit(context.pointer, nil, nil, nil, key.pointer) == 1
                    && EVP_DigestVerify(
                        context.pointer,
                        signature.bytesOrEmpty,
                        signature.count,
                        message.bytesOrEmpty,
                        message.count
                    ) == 1
            }
        }
        ERR_clear_error()
        return valid
    }
}

/// Owns one `EVP_MD_CTX`.
@safe private final class DigestContext {
    let pointer: OpaquePointer

    init() {
        guard let made = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        unsafe pointer = made
    }

    deinit {
        unsafe EVP_MD_CTX_free(pointer)
    }
}
