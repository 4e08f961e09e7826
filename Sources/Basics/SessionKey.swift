/// A session's canonical key: `agent:AGENT:REST` in lower case, or `global`.
package struct SessionKey: Sendable, Hashable, Comparable {
    package let text: String

    /// The text must already be canonical.
    package init(canonical text: String) { self.text = text }

    package static func < (left: SessionKey, right: SessionKey) -> Bool { left.text < right.text }

    package enum Problem: Error, Equatable {
        case empty
        case tooLong(limit: Int)
        /// A control character or a blank.
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

    /// Splits by bytes, because a colon and a combining character after it are one `Character`.
    package static func parts(_ text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}
