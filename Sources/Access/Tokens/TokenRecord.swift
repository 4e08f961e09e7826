package import Basics
package import JSONBytes

/// One token without its secret.
package struct TokenRecord: Sendable, Equatable {
    package let id: String
    package var name: String
    package var scopes: ScopeSet
    /// Nil allows all sessions.
    package var sessions: SessionSet?
    /// Nil allows all paths.
    package var paths: AllowedPaths?
    package let createdAt: Timestamp
    package var expiresAt: Timestamp?
    package var lastUsedAt: Timestamp?
    package var digest: SecretDigest
    /// The first characters, so that people tell tokens apart.
    package var shown: String

    package init(
        id: String,
        name: String,
        scopes: ScopeSet,
        sessions: SessionSet? = nil,
        paths: AllowedPaths? = nil,
        createdAt: Timestamp,
        expiresAt: Timestamp? = nil,
        lastUsedAt: Timestamp? = nil,
        digest: SecretDigest,
        shown: String
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.sessions = sessions
        self.paths = paths
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.digest = digest
        self.shown = shown
    }

    package func isExpired(now: Timestamp) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }

    /// A fresh token and its record; the secret exists only in the returned value.
    package static func issue(_ newToken: NewToken, now: Timestamp, random: [UInt8]) -> (
        record: TokenRecord, secret: Secret
    ) {
        let secret = TokenText.make()
        let record = TokenRecord(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: random),
            name: newToken.name,
            scopes: newToken.scopes,
            sessions: newToken.sessions,
            paths: newToken.paths,
            createdAt: now,
            expiresAt: newToken.expiresAt,
            digest: SecretDigest(of: secret),
            shown: TokenText.shown(secret)
        )
        return (record, secret)
    }

    /// The same token with a new secret. The old secret is no longer valid.
    package func rotated() -> (record: TokenRecord, secret: Secret) {
        let secret = TokenText.make()
        var record = self
        record.digest = SecretDigest(of: secret)
        record.shown = TokenText.shown(secret)
        return (record, secret)
    }
}

extension TokenRecord: JSONWritable {
    /// The members that every form of a token begins with.
    package func writeRights(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", name)
        writer.array("scopes", of: scopes.names)
        if let sessions { writer.array("sessions", of: sessions.texts) }
        if let paths { writer.array("paths", of: paths.list) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writeRights(to: &writer)
            writer.member("shown", shown)
            writer.member("createdAt", createdAt)
            writer.member("expiresAt", expiresAt)
            writer.member("lastUsedAt", lastUsedAt)
        }
    }
}
