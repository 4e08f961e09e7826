package import Basics

/// A place in a session's messages: before, or behind, the message it names.
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

    /// Nil for text that is no cursor of ours.
    package init?(_ text: String) {
        guard text.utf8.count <= 1_024, let bytes = Base64.decode(text.utf8, as: .url) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
        at = Timestamp(milliseconds: milliseconds)
        id = String(parts[1])
    }

    package var text: String { Base64.encode(Array("\(at.milliseconds) \(id)".utf8), as: .url) }
}

extension MessagePage {
    package struct Slice: Sendable {
        package var messages: [ChatMessage]
        /// For the next older and the next newer page; nil where nothing is left.
        package var before: MessageCursor?
        package var after: MessageCursor?
    }

    package func slice(
        limit: Int,
        before: MessageCursor? = nil,
        after: MessageCursor? = nil,
        hasOlder: Bool = false
    ) -> Slice {
        Self.slice(of: messages, limit: limit, before: before, after: after, hasOlder: hasOlder)
    }

    /// `limit` messages before or behind a cursor, newest last. `hasOlder`: the gateway may hold more than this page.
    package static func slice(
        of messages: [ChatMessage],
        limit: Int,
        before: MessageCursor? = nil,
        after: MessageCursor? = nil,
        hasOlder: Bool = false
    ) -> Slice {
        var range = messages[...]
        if let before {
            let end =
                messages.firstIndex { $0.id == before.id } ?? messages.firstIndex { $0.at >= before.at }
                ?? messages.endIndex
            range = messages[..<end]
        }
        if let after {
            let place = messages.lastIndex { $0.id == after.id } ?? messages.lastIndex { $0.at <= after.at }
            // The place behind `after` may lie behind the one before `before`: then nothing lies between.
            range = range[min(place.map { $0 + 1 } ?? 0, range.endIndex)...]
        }
        let kept = after != nil && before == nil ? range.prefix(max(limit, 0)) : range.suffix(max(limit, 0))
        var slice = Slice(messages: Array(kept))
        if let first = kept.first, kept.startIndex > 0 || hasOlder { slice.before = MessageCursor(first) }
        if let last = kept.last, kept.endIndex < messages.endIndex { slice.after = MessageCursor(last) }
        return slice
    }
}
