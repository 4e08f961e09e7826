import TLS

extension GatewayPrimitives {
    /// The real ones.
    package static var system: GatewayPrimitives {
        GatewayPrimitives(
            verify: { publicKey, message, signature in
                guard let key = try? Ed25519PublicKey(raw: publicKey) else { return false }
                return key.verify(signature, of: message)
            },
            sha256: { Digest.sha256($0) },
            randomBytes: { SecureRandom.bytes($0) }
        )
    }
}
