import Basics
import Outbox
import Runs

/// Our messages that a transcript does not have.
struct MissingEntries {
    private struct Ended {
        let message: ChatMessage
        /// Its place among the rows, by their clock.
        let at: Timestamp
    }

    /// Messages that failed or whose run did, stopped ones, and those without words, oldest first. They stand at their time.
    private var ended: [Ended] = []
    /// Messages on their way, oldest first, and delivered ones as long as the transcript may lack their rows. They stand at the end
    /// of the list.
    private(set) var waiting: [ChatMessage] = []

    /// - Parameters:
    ///   - known: ids of messages that the transcript has.
    ///   - since: the time of the transcript, which includes messages delivered before it.
    ///   - begun: when the session's conversation began, if known. Messages from before it belong to another one.
    ///   - clockSkewMs: how far the gateway's clock is ahead of ours; nil to place the messages by ours.
    init(
        notIn known: Set<String>,
        _ sent: SentEntries,
        since: Timestamp?,
        begun: Timestamp?,
        clockSkewMs: Int64? = nil
    ) {
        for entry in sent.entries.reversed() where entry.kind == .message && !known.contains(entry.id) {
            let mayLackRow = sent.rowless.contains(entry.id)
            if let begun, entry.state.hasEnded, (mayLackRow ? entry.createdAt : entry.updatedAt) < begun { continue }
            if entry.state == .delivered {
                // Commands and hidden prompts are delivered, but never appear in a transcript.
                guard !entry.isSlashCommand, let text = entry.text, !StopWords.matches(text) else { continue }
                if !mayLackRow, let since, entry.updatedAt < since { continue }
            }
            let files = sent.attachments(of: entry.id)
            guard let message = ChatMessage(entry, text: entry.text ?? "", attachments: files) else { continue }
            if mayLackRow || message.state == .failed {
                let skew = clockSkewMs.map { entry.dispatchSkewMs ?? $0 } ?? 0
                ended.append(Ended(message: message, at: message.at.adding(milliseconds: skew)))
            } else {
                waiting.append(message)
            }
        }
        ended.sort { ($0.at, $0.message.id) < ($1.at, $1.message.id) }
    }

    /// Puts the ended messages of one page among the page's messages of the transcript.
    /// - Parameters:
    ///   - start: where the page begins: its first message of the transcript, or the last message of the page before.
    ///   - end: where the page ends: the first message of the next page.
    func ended(
        among shown: [ChatMessage],
        from start: MessageCursor? = nil,
        before end: MessageCursor? = nil
    ) -> [ChatMessage] {
        var messages = shown
        for item in ended {
            let id = item.message.id
            if let start, item.at < start.at || (item.at == start.at && isOurs(start) && id <= start.id) { continue }
            if let end, item.at > end.at || (item.at == end.at && (!isOurs(end) || id >= end.id)) { continue }
            let place = messages.lastIndex { $0.at <= item.at }.map { $0 + 1 } ?? 0
            messages.insert(item.message, at: place)
        }
        return messages
    }

    /// Whether the message at this place is one of the ended ones. Messages of the same millisecond are sorted so: first the
    /// transcript's, then the ended ones by id.
    private func isOurs(_ place: MessageCursor) -> Bool { ended.contains { $0.message.id == place.id } }
}
