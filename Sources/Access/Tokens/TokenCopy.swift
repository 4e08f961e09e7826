import Basics
package import JSONBytes

/// A token as a leader gives it to its followers: with the digest of its secret, by which they know its bearer. Not even they can make
/// the secret from it.
extension TokenRecord {
    package func writeCopy(to writer: inout JSONWriter) {
        writer.object { writer in
            writeRights(to: &writer)
            writer.member("createdAt", createdAt)
            writer.member("expiresAt", expiresAt)
            writer.member("digest", Hex.encode(digest.bytes))
            writer.member("shown", shown)
        }
    }

    /// Nil for anything but a whole token with nothing unknown in it: a limit that is not understood would be none.
    package init?(copy: JSONValue) {
        let known = ["id", "name", "scopes", "sessions", "paths", "createdAt", "expiresAt", "digest", "shown"]
        guard copy.kind == .object, copy.members.allSatisfy({ known.contains($0.key) }),
            let id = copy["id"]?.string, let name = copy["name"]?.string,
            let names = copy["scopes"].flatMap(Self.texts),
            case .success(let scopes) = ScopeSet.parse(names),
            let createdAt = copy["createdAt"]?.string.flatMap(Timestamp.init(rfc3339:)),
            let digest = copy["digest"]?.string.flatMap(Hex.decode).flatMap({ SecretDigest(bytes: $0) }),
            let shown = copy["shown"]?.string
        else { return nil }
        var sessions: SessionSet?
        if let list = copy["sessions"] {
            guard let texts = Self.texts(list) else { return nil }
            sessions = SessionSet(texts)
        }
        var paths: AllowedPaths?
        if let list = copy["paths"] {
            guard let texts = Self.texts(list), let allowed = try? AllowedPaths(texts) else { return nil }
            paths = allowed
        }
        var expiresAt: Timestamp?
        if let text = copy["expiresAt"] {
            guard let time = text.string.flatMap(Timestamp.init(rfc3339:)) else { return nil }
            expiresAt = time
        }
        self.init(
            id: id,
            name: name,
            scopes: scopes,
            sessions: sessions,
            paths: paths,
            createdAt: createdAt,
            expiresAt: expiresAt,
            digest: digest,
            shown: shown
        )
    }

    private static func texts(_ value: JSONValue) -> [String]? {
        guard value.kind == .array else { return nil }
        var texts: [String] = []
        for element in value.elements {
            guard let text = element.string else { return nil }
            texts.append(text)
        }
        return texts
    }
}
