/// A session's canonical key: `agent:AGENT:REST` in lower case, or `global`. Two keys are the same if their bytes are, as
/// for the gateway: `==` on texts would also take two spellings of a letter for one, and so two sessions for one.
package struct SessionKey: Sendable, Hashable, Comparable {
    package let text: String

    /// The text must already be canonical.
    package init(canonical text: String) { self.text = text }

    package static func == (left: SessionKey, right: SessionKey) -> Bool { left.text.isSameText(as: right.text) }

    package static func < (left: SessionKey, right: SessionKey) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package enum Problem: Error, Equatable {
        case empty
        case tooLong(limit: Int)
        case blank
        case control(Unicode.Scalar)
        /// `agent:` without a valid agent id or without a rest.
        case malformed
    }

    /// The gateway's own limit of `chat.send`.
    package static let limit = 512

    /// The first character that keeps the key from being read on a screen and typed into a shell; nil if there is none.
    /// The gateway takes such keys, and its own are used as they are, but Ladle begins no session of that name.
    package var untypable: Unicode.Scalar? {
        text.unicodeScalars.first { "\"'$`\\".unicodeScalars.contains($0) || !Printable.isShown($0) }
    }

    package var agent: String? {
        let parts = Self.parts(text)
        return parts.count == 3 && parts[0] == "agent" ? String(parts[1]) : nil
    }

    /// Splits by bytes, because a colon and a combining character after it are one `Character`.
    package static func parts(_ text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}

/// Values by session. A session's text is no key itself, because texts are not compared by their bytes.
extension Dictionary where Key == SessionKey {
    package subscript(session: String) -> Value? {
        get { self[SessionKey(canonical: session)] }
        set { self[SessionKey(canonical: session)] = newValue }
        _modify { yield &self[SessionKey(canonical: session)] }
    }

    package subscript(session: String, default value: @autoclosure () -> Value) -> Value {
        get { self[SessionKey(canonical: session), default: value()] }
        _modify { yield &self[SessionKey(canonical: session), default: value()] }
    }

    @discardableResult
    package mutating func removeValue(forKey session: String) -> Value? {
        removeValue(forKey: SessionKey(canonical: session))
    }
}
