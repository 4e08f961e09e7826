import Basics
import Outbox
import Runs

/// Our messages that a transcript does not have.
enum MissingEntries {
    /// Messages on their way or failed, oldest first; delivered ones only while the transcript may still lag.
    /// - Parameters:
    ///   - since: the time of the transcript, which includes messages delivered before it.
    ///   - begun: when the session's conversation began, if known. Entries that ended before it belong to another one.
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
                // Commands and hidden prompts are delivered, but never appear in a transcript.
                guard !entry.isSlashCommand, let text = entry.text, !StopWords.matches(text) else { return nil }
                if let since, entry.updatedAt < since { return nil }
            }
            return ChatMessage(entry, text: entry.text ?? "", attachments: sent.attachments(of: entry.id))
        }
    }
}
