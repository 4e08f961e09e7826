import Basics

/// A session's canonical key: `agent:AGENT:REST` in lower case, or `global`.
package struct SessionKey: Sendable, Hashable, Comparable {
    package let text: String

    /// Text that is known to be canonical: from a key made before.
    package init(canonical text: String) { self.text = text }

    package static func < (left: SessionKey, right: SessionKey) -> Bool { left.text < right.text }

    package enum Problem: Error, Equatable {
        case empty
        case tooLong(limit: Int)
        /// Control characters or blanks.
        case invalidCharacter
        /// `agent:` without a valid agent id or without a rest.
        case malformed
    }

    /// The gateway's own limit of `chat.send`.
    package static let limit = 512

    package var agent: String? {
        let parts = Self.parts(text)
        return parts.count == 3 && parts[0] == "agent" ? String(parts[1]) : nil
    }

    /// By bytes: a colon and a combining character behind it are one `Character`.
    static func parts(_ text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}

/// What `main` and bare keys mean on this gateway (`sessionDefaults` of its hello).
package struct SessionDefaults: Sendable, Equatable {
    package var agent: String
    package var mainKey: String
    package var mainSession: SessionKey

    package static let standard = SessionDefaults()

    package init(agent: String = "main", mainKey: String = "main", mainSession: String? = nil) {
        self.agent = agent.isEmpty ? "main" : agent.lowercased()
        self.mainKey = mainKey.isEmpty ? "main" : mainKey.lowercased()
        let fallback = "agent:\(self.agent):\(self.mainKey)"
        self.mainSession = SessionKey(
            canonical: mainSession.map { $0.isEmpty ? fallback : $0.lowercased() } ?? fallback
        )
    }

    /// The key behind what a person or an old gateway wrote. Two spellings of one session always give one key.
    package func canonical(_ written: String) throws(SessionKey.Problem) -> SessionKey {
        let trimmed = written.trimmingBlanks()
        guard !trimmed.isEmpty else { throw .empty }
        guard trimmed.utf8.count <= SessionKey.limit else { throw .tooLong(limit: SessionKey.limit) }
        guard !trimmed.unicodeScalars.contains(where: Self.isRefused) else {
            throw .invalidCharacter
        }
        let lowered = trimmed.lowercased()
        if lowered == "main" || lowered == mainKey || lowered == mainSession.text { return mainSession }
        if lowered == "global" || lowered == "unknown" { return SessionKey(canonical: lowered) }
        guard lowered.utf8.starts(with: "agent:".utf8) else {
            return SessionKey(canonical: "agent:\(agent):\(lowered)")
        }
        let parts = SessionKey.parts(lowered)
        guard parts.count == 3, Self.isAgent(parts[1]), !parts[2].isEmpty else { throw .malformed }
        if parts[1] == agent, parts[2] == mainKey || parts[2] == "main" { return mainSession }
        return SessionKey(canonical: lowered)
    }

    /// For keys in frames: what cannot be a key is kept as it stands, cut to the limit, so that no event is lost.
    package func tolerant(_ written: String) -> SessionKey {
        if let key = try? canonical(written) { return key }
        return SessionKey(
            canonical: String(decoding: written.lowercased().utf8.prefix(SessionKey.limit), as: UTF8.self)
        )
    }

    /// Blanks and control characters, of both sets.
    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value <= 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    private static func isAgent(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
        func isWord(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) }
        return isWord(first)
            && text.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }
}
