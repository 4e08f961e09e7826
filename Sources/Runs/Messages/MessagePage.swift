package import Basics
package import Gateway

/// The messages of a history page: tool rows become steps, housekeeping and duplicates are gone.
package struct MessagePage: Sendable {
    package private(set) var messages: [ChatMessage] = []
    /// Messages in the gateway's answer; fewer than asked for means that nothing older is there.
    package let rowCount: Int
    /// The last turn may still go on.
    private let isOpen: Bool

    /// All messages but those of an answer that is still being given.
    package var settled: ArraySlice<ChatMessage> {
        guard isOpen else { return messages[...] }
        let end = messages.lastIndex { $0.role == .user }.map { $0 + 1 } ?? 0
        return messages[..<end]
    }

    /// - Parameter entries: ids of our outbox entries by idempotency key. A message sent through us keeps its entry's id.
    package init(
        _ history: ChatHistory.Output,
        session: SessionKey,
        tracker: RunTracker,
        entries: [String: String] = [:],
        now: Timestamp
    ) {
        rowCount = history.messageCount
        let last = history.rows.last { $0.role != .system && $0.role != .other }
        isOpen =
            history.hasInFlightRun ?? history.hasActiveRun
            ?? (last?.role != .assistant || last?.stopReason == .toolUse)
        var builder = MessageBuilder(session: session, tracker: tracker, entries: entries, now: now)
        let turns = HistoryTurn.split(Self.withoutAbortDuplicates(history.rows))
        let owners = tracker.owners(of: turns, session: session)
        for (place, turn) in turns.enumerated() { builder.add(turn, of: owners[place]) }
        messages = builder.messages
    }

    /// The message of one row; nil for a row that nobody is to see.
    package static func message(
        _ row: HistoryRow,
        session: SessionKey,
        tracker: RunTracker,
        entries: [String: String] = [:],
        now: Timestamp
    ) -> ChatMessage? {
        var builder = MessageBuilder(session: session, tracker: tracker, entries: entries, now: now)
        let turns = HistoryTurn.split([row])
        let owners = tracker.owners(of: turns, session: session)
        for (place, turn) in turns.enumerated() { builder.add(turn, of: owners[place]) }
        return builder.messages.last
    }

    /// After an abort the transcript has the partial answer twice: as the gateway's note, which may even come before the
    /// user's row, and as the model's own row.
    private static func withoutAbortDuplicates(_ rows: [HistoryRow]) -> [HistoryRow] {
        var kept: [HistoryRow] = []
        var displaced: [HistoryRow] = []
        for (place, row) in rows.enumerated() {
            if row.isAbortNote {
                let text = row.text.trimmingBlanks()
                let duplicate = rows.firstIndex { other in
                    guard !other.isAbortNote, other.role == .assistant, other.stopReason == .aborted else {
                        return false
                    }
                    let own = other.text.trimmingBlanks()
                    return own == text || (!own.isEmpty && text.hasPrefix(own))
                        || (!text.isEmpty && own.hasPrefix(text))
                }
                if duplicate != nil { continue }
                if let next = rows[(place + 1)...].first, next.role == .user, let said = next.time,
                    let noted = row.time, said < noted
                {
                    displaced.append(row)
                    continue
                }
            }
            kept.append(row)
            if row.role == .user, !displaced.isEmpty {
                kept += displaced
                displaced.removeAll()
            }
        }
        return kept + displaced
    }

    // MARK: Slices

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
            // Where `after` lies behind `before`, nothing is between them.
            range = range[min(place.map { $0 + 1 } ?? 0, range.endIndex)...]
        }
        let kept = after != nil && before == nil ? range.prefix(max(limit, 0)) : range.suffix(max(limit, 0))
        var slice = Slice(messages: Array(kept))
        if let first = kept.first, kept.startIndex > 0 || hasOlder { slice.before = MessageCursor(first) }
        if let last = kept.last, kept.endIndex < messages.endIndex { slice.after = MessageCursor(last) }
        return slice
    }
}
