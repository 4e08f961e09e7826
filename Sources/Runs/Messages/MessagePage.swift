package import Basics
package import Gateway

/// The messages of a transcript page. Tool rows become steps; housekeeping and duplicates are left out.
package struct MessagePage: Sendable {
    package private(set) var messages: [ChatMessage] = []
    /// Messages in the gateway's answer. If they are fewer than asked for, there are no older ones.
    package let rowCount: Int
    /// The last turn may still be under way.
    private let isOpen: Bool

    /// All messages except those of an answer that is still being written.
    package var settled: ArraySlice<ChatMessage> {
        guard isOpen else { return messages[...] }
        let end = messages.lastIndex { $0.role == .user }.map { $0 + 1 } ?? 0
        return messages[..<end]
    }

    /// The rows of our messages, by outbox entry.
    package private(set) var rows: [String: String] = [:]

    /// - Parameters:
    ///   - sent: our messages of the session, oldest first. Each is shown with its entry's id.
    ///   - told: the runs that messages of the session have on the stream, by message.
    package init(
        _ history: ChatHistory.Output,
        session: SessionKey,
        tracker: RunTracker,
        sent: [SentMessage] = [],
        told: [String: String] = [:],
        now: Timestamp
    ) {
        rowCount = history.messageCount
        let last = history.rows.last { $0.role != .system && $0.role != .other }
        isOpen =
            history.hasInFlightRun ?? history.hasActiveRun
            ?? (last?.role != .assistant || last?.stopReason == .toolUse)
        let turns = TranscriptTurn.split(AbortNotes.settled(history.rows))
        var toldTurns: [Int: String] = [:]
        var earlier: Set<String> = []
        for (place, turn) in turns.enumerated() {
            toldTurns[place] = turn.run(told: told, besides: earlier)
            earlier.formUnion(turn.rows.map(\.messageID))
        }
        let runs = tracker.owners(of: turns, session: session, told: toldTurns)
        let own = sent.map { $0.waiting(in: tracker) }.found(in: turns, runs: runs)
        var builder = MessageBuilder(session: session, tracker: tracker, told: told, now: now)
        for (place, turn) in turns.enumerated() {
            builder.add(turn, run: runs[place], sent: own[place])
            if let id = own[place]?.id { rows[id] = turn.user?.identity }
        }
        messages = builder.finished()
    }

    /// The message of one row, and whether we sent it; nil for a row that is not shown.
    package static func message(
        _ row: TranscriptRow,
        session: SessionKey,
        tracker: RunTracker,
        sent: [SentMessage] = [],
        now: Timestamp
    ) -> (message: ChatMessage, isOurs: Bool)? {
        let turns = TranscriptTurn.split([row])
        let runs = tracker.owners(of: turns, session: session)
        let own = sent.map { $0.waiting(in: tracker).asShown(in: row) }.found(in: turns, runs: runs)
        var builder = MessageBuilder(session: session, tracker: tracker, now: now)
        for (place, turn) in turns.enumerated() { builder.add(turn, run: runs[place], sent: own[place]) }
        return builder.finished().last.map { ($0, own[0]?.isKept ?? false) }
    }

    /// Replaces the text of a cut message by its whole text, which an event had.
    package mutating func complete(_ whole: ChatMessage) {
        guard let place = messages.firstIndex(where: { $0.id == whole.id }),
            whole.text.count > messages[place].text.count, whole.text.hasPrefix(messages[place].text)
        else { return }
        messages[place].text = whole.text
        messages[place].isTruncated = false
    }

    // MARK: Slices

    package struct Slice: Sendable {
        package var messages: [ChatMessage]
        /// The cursors for the next older and the next newer page; nil if there is none.
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

    /// `limit` messages before or after a cursor, newest last.
    /// - Parameter hasOlder: the gateway may have older messages than these.
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
            // If `after` is later than `before`, the range is empty.
            range = range[min(place.map { $0 + 1 } ?? 0, range.endIndex)...]
        }
        let kept = after != nil && before == nil ? range.prefix(max(limit, 0)) : range.suffix(max(limit, 0))
        var slice = Slice(messages: Array(kept))
        if let first = kept.first, kept.startIndex > 0 || hasOlder { slice.before = MessageCursor(first) }
        if let last = kept.last, kept.endIndex < messages.endIndex { slice.after = MessageCursor(last) }
        return slice
    }
}

extension TranscriptRow {
    /// The id of the row's message: the row's own in the transcript, else one made from its content.
    package var messageID: String { id ?? "h-" + FNV1a.name(identity.utf8) }
}

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
