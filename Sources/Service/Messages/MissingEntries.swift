import Basics
import Outbox
import Runs

/// Messages of ours that a transcript does not have.
enum MissingEntries {
    /// Messages on their way or given up, oldest first; delivered ones only while the transcript may still lag.
    /// - Parameters:
    ///   - since: a transcript of this time has what was delivered before.
    ///   - begun: when the session's conversation began, where that is known. What ended before belongs to another one.
    static func messages(
        notIn shown: [ChatMessage],
        _ sent: SentEntries,
        since: Timestamp?,
        begun: Timestamp?
    ) -> [ChatMessage] {
        let ids = Set(shown.map(\.id))
        return sent.entries.reversed().compactMap { entry in
            guard entry.kind == .message, !ids.contains(entry.id) else { return nil }
            if let begun, entry.state.isTerminal, entry.updatedAt < begun { return nil }
            if entry.state == .delivered {
                // Orders and silent prompts are delivered and never stand in a transcript.
                guard !entry.isSlashCommand, let text = entry.text, !StopWords.matches(text) else { return nil }
                if let since, entry.updatedAt < since { return nil }
            }
            return ChatMessage(entry, text: entry.text ?? "", attachments: sent.attachments(of: entry.id))
        }
    }
}
