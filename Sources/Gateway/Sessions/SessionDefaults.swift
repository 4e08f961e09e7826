package import Basics

/// The session behind `main` and behind bare keys on this gateway: `sessionDefaults` of its hello.
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

    /// The canonical form of a key as written by people and old gateways. Two spellings of one session always give the
    /// same key.
    package func canonical(_ written: String) throws(SessionKey.Problem) -> SessionKey {
        // A body may hold one of many megabytes, too long to be looked through.
        guard written.utf8.count <= 4 * SessionKey.limit else { throw .tooLong(limit: SessionKey.limit) }
        let trimmed = written.trimmingBlanks()
        guard !trimmed.isEmpty else { throw .empty }
        guard trimmed.utf8.count <= SessionKey.limit else { throw .tooLong(limit: SessionKey.limit) }
        guard !trimmed.utf8.contains(0x20) else { throw .blank }
        if let control = trimmed.unicodeScalars.first(where: Self.isControl) { throw .control(control) }
        let lowered = trimmed.lowercased()
        if isMain(lowered) || lowered.isSameText(as: mainSession.text) { return mainSession }
        if lowered == "global" || lowered == "unknown" { return SessionKey(canonical: lowered) }
        guard lowered.utf8.starts(with: "agent:".utf8) else {
            return SessionKey(canonical: "agent:\(agent):\(lowered)")
        }
        let parts = SessionKey.parts(lowered)
        guard parts.count == 3, Self.isAgent(parts[1]), !parts[2].isEmpty else { throw .malformed }
        if parts[1] == agent, isMain(parts[2]) { return mainSession }
        return SessionKey(canonical: lowered)
    }

    private func isMain(_ rest: some StringProtocol) -> Bool { rest.isSameText(as: mainKey) || rest == "main" }

    /// For keys in frames: an invalid key is kept, cut to the limit, so that no event is lost.
    package func tolerant(_ written: String) -> SessionKey {
        if let key = try? canonical(written) { return key }
        return SessionKey(
            canonical: String(decoding: written.lowercased().utf8.prefix(SessionKey.limit), as: UTF8.self)
        )
    }

    /// Whether a character is a control character, C0 or C1.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    private static func isAgent(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
        func isWord(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) }
        return isWord(first)
            && text.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }
}
