import COpenSSL

/// Encrypts secrets for a place that others may read: AES-256-GCM (NIST SP 800-38D). Each is bound to its name, so one cannot be put in the
/// place of another.
package struct Seal: Sendable {
    private static let nonceBytes = 12
    private static let tagBytes = 16
    private let key: [UInt8]

    /// - Parameters:
    ///   - secret: 32 random bytes.
    ///   - purpose: keys for other purposes that are made of the same secret differ (HKDF, RFC 5869, without salt).
    package init(secret: [UInt8], purpose: String) {
        let seed = HMAC.sha256(key: [UInt8](repeating: 0, count: 32), secret)
        key = HMAC.sha256(key: seed, Array(purpose.utf8) + [1])
    }

    package func seal(_ plain: [UInt8], as name: String) -> [UInt8] {
        let nonce = SecureRandom.bytes(Self.nonceBytes)
        guard let (bytes, tag) = run(plain, name, nonce, nil) else {
            preconditionFailure("AES-256-GCM failed, which no input can cause")
        }
        return nonce + bytes + tag
    }

    /// Nil if the bytes were sealed with another key or under another name, or were changed.
    package func open(_ sealed: [UInt8], as name: String) -> [UInt8]? {
        guard sealed.count >= Self.nonceBytes + Self.tagBytes else { return nil }
        let nonce = Array(sealed.prefix(Self.nonceBytes))
        let tag = Array(sealed.suffix(Self.tagBytes))
        let bytes = Array(sealed.dropFirst(Self.nonceBytes).dropLast(Self.tagBytes))
        return run(bytes, name, nonce, tag)?.bytes
    }

    /// - Parameter expected: the tag to check; nil seals.
    private func run(
        _ input: [UInt8],
        _ name: String,
        _ nonce: [UInt8],
        _ expected: [UInt8]?
    ) -> (bytes: [UInt8], tag: [UInt8])? {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let name = Array(name.utf8)
        var tag = expected ?? [UInt8](repeating: 0, count: Self.tagBytes)
        var output = [UInt8](repeating: 0, count: input.count + Self.tagBytes)
        var (count, rest): (Int32, Int32) = (0, 0)
        let seals: Int32 = expected == nil ? 1 : 0
        guard unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, seals) == 1,
            unsafe EVP_CipherUpdate(context, nil, &count, name, Int32(name.count)) == 1,
            unsafe EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1
        else { return nil }
        if seals == 0 {
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
                return nil
            }
        }
        // GCM is a stream cipher: its end gives no bytes, and checks the tag.
        var end = [UInt8](repeating: 0, count: Self.tagBytes)
        guard unsafe EVP_CipherFinal_ex(context, &end, &rest) == 1 else {
            ERR_clear_error()
            return nil
        }
        if seals == 1 {
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1 else {
                return nil
            }
        }
        return (Array(output.prefix(Int(count))), tag)
    }
}
