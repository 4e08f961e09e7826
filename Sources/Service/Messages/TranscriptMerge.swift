package import Basics
package import Outbox
package import Runs

/// Brings transcripts and the outbox together: what was sent through us keeps its entry's id, and what the transcript
/// does not have yet is shown as well.
package enum TranscriptMerge {
    /// Both clocks may differ this much.
    private static let tolerance: Int64 = 10_000
    /// A row is written when the gateway gets to it.
    private static let lag: Int64 = 600_000

    /// Older gateways show no keys in their history: there the words and the time tell.
    package static func named(_ messages: [ChatMessage], _ entries: [OutboxEntry]) -> [ChatMessage] {
        var messages = messages
        let shown = Set(messages.map(\.id))
        // The row of an accepted entry may be there before it is known to be.
        var free = entries.filter { entry in
            entry.kind == .message && [.accepted, .delivered].contains(entry.state) && !shown.contains(entry.id)
        }
        for place in messages.indices where messages[place].role == .user {
            let message = messages[place]
            guard !entries.contains(where: { $0.id == message.id }) else { continue }
            let match = free.lastIndex { entry in
                if let run = message.runID, run == entry.runID || run == entry.upstreamKey { return true }
                return entry.text == message.text
                    && message.at >= entry.createdAt.adding(milliseconds: -tolerance)
                    && message.at <= entry.updatedAt.adding(milliseconds: lag)
            }
            guard let match else { continue }
            messages[place].id = free.remove(at: match).id
        }
        return messages
    }

    /// Messages on their way or given up, oldest first; delivered ones only while the transcript may still lag.
    package static func missing(in messages: [ChatMessage], _ entries: [OutboxEntry], asOf: Timestamp?) -> [ChatMessage]
    {
        let shown = Set(messages.map(\.id))
        let newest = messages.last?.at
        return entries.reversed().compactMap { entry in
            guard entry.kind == .message, !shown.contains(entry.id) else { return nil }
            if entry.state == .delivered {
                // Orders and silent prompts are delivered and never stand in a transcript.
                guard !entry.isSlashCommand, let text = entry.text, !StopWords.matches(text) else { return nil }
                let since = asOf ?? newest
                if let since, entry.updatedAt < since { return nil }
            }
            return ChatMessage(entry, text: entry.text ?? "")
        }
    }
}
