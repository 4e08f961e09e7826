package import Basics

/// A place in a session's messages: just before or just after one message.
package struct MessageCursor: Sendable, Equatable {
    package var at: Timestamp
    package var id: String

    package init(at: Timestamp, id: String) {
        self.at = at
        self.id = id
    }

    package init(_ message: ChatMessage) {
        at = message.at
        id = message.id
    }

    /// Nil if the text is no cursor.
    package init?(_ text: String) {
        guard text.utf8.count <= 1_024, let bytes = Base64.decode(text.utf8, as: .url) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
        at = Timestamp(milliseconds: milliseconds)
        id = String(parts[1])
    }

    package var text: String { Base64.encode(Array("\(at.milliseconds) \(id)".utf8), as: .url) }
}
