import Basics
import Outbox
import Runs

/// Our messages that a transcript does not have.
struct MissingEntries {
    /// Failed messages, and messages that were stopped before the gateway wrote them, oldest first. They stand at their time.
    private var settled: [ChatMessage] = []
    /// Messages on their way, oldest first; delivered ones only while the transcript may still lag. They stand at the end.
    private(set) var waiting: [ChatMessage] = []

    /// - Parameters:
    ///   - since: the time of the transcript, which includes messages delivered before it.
    ///   - begun: when the session's conversation began, if known. Entries that ended before it belong to another one.
    init(notIn shown: [ChatMessage], _ sent: SentEntries, since: Timestamp?, begun: Timestamp?) {
        let ids = Set(shown.map(\.id))
        for entry in sent.entries.reversed() where entry.kind == .message && !ids.contains(entry.id) {
            if let begun, entry.state.isTerminal, entry.updatedAt < begun { continue }
            let isStopped = sent.stopped.contains(entry.id)
            if entry.state == .delivered {
                // Commands and hidden prompts are delivered, but never appear in a transcript.
                guard !entry.isSlashCommand, let text = entry.text, !StopWords.matches(text) else { continue }
                if !isStopped, let since, entry.updatedAt < since { continue }
            }
            guard
                let message = ChatMessage(
                    entry,
                    text: entry.text ?? "",
                    attachments: sent.attachments(of: entry.id)
                )
            else { continue }
            if isStopped || message.state == .failed {
                settled.append(message)
            } else {
                waiting.append(message)
            }
        }
    }

    /// Puts the settled messages between these two times among the messages of the transcript.
    func settled(
        among shown: [ChatMessage],
        after start: Timestamp? = nil,
        before end: Timestamp? = nil
    ) -> [ChatMessage] {
        var messages = shown
        for message in settled {
            if let start, message.at <= start { continue }
            if let end, message.at >= end { continue }
            let place = messages.lastIndex { $0.at <= message.at }.map { $0 + 1 } ?? 0
            messages.insert(message, at: place)
        }
        return messages
    }
}
