import Gateway
package import Ledger

/// Our message, as the outbox has it. The transcript has it as a row, which names our key only on newer gateways.
package struct SentMessage: Sendable {
    /// The outbox entry.
    package var id: String
    /// The keys with which the message was sent, and the id of the run that answers it.
    package var keys: [String]
    package var text: String?
    package var attachments: [MessageAttachment]
    /// The gateway wrote the message's row between these times of its clock; nil for a message that was not sent yet.
    package var written: ClockWindow?
    /// The row in which an earlier page showed the message.
    package var row: String?
    /// The outbox will send the message, although its row may be there: June gateways write the row of a message that they refuse.
    package var isToBeSent: Bool
    /// Why the outbox gave the message up, although its row may be there.
    package var failure: String?
    /// False if the outbox has forgotten the message or another Ladle sent it. Then the message's id comes from its key alone.
    package var isKept: Bool

    package init(
        id: String,
        keys: [String],
        text: String?,
        attachments: [MessageAttachment] = [],
        written: ClockWindow? = nil,
        row: String? = nil,
        isToBeSent: Bool = false,
        failure: String? = nil,
        isKept: Bool = true
    ) {
        self.id = id
        self.keys = keys
        self.text = text
        self.attachments = attachments
        self.written = written
        self.row = row
        self.isToBeSent = isToBeSent
        self.failure = failure
        self.isKept = isKept
    }

    /// Whether a key is one of this message's. After a refusal the outbox sends the message again with the entry's id, `-r` and a
    /// number as its key.
    func owns(_ key: String) -> Bool { key == id || keys.contains(key) || key.hasPrefix(id + "-r") }

    /// Whether a row shows this message's text.
    func isShown(in row: HistoryRow) -> Bool { text.map { Words(row).show(Words($0)) } ?? false }
}

/// Finds our messages among the turns of a transcript: by key or run, else by words and time. Among messages with equal words, the
/// first one sent has the first row.
struct SentMessages {
    private(set) var byTurn: [Int: SentMessage] = [:]

    /// - Parameters:
    ///   - sent: oldest first.
    ///   - runs: the known runs of turns, by the turn's place.
    init(_ sent: [SentMessage], in turns: [HistoryTurn], runs: [Int: String]) {
        guard !sent.isEmpty else { return }
        var free = sent.indices.map { $0 }
        for (place, turn) in turns.enumerated() {
            // The answer to a gateway's own prompt may be our message's; the prompt is not.
            guard let user = turn.user, !user.resumesUnnamedTurn else { continue }
            let keys = [user.runKey, runs[place]].compactMap { $0 }
            let found = sent.firstIndex { message in
                keys.contains { message.owns($0) } || message.row == user.identity
            }
            guard let found else { continue }
            byTurn[place] = sent[found]
            free.removeAll { $0 == found }
        }
        let rows = Set(turns.compactMap { $0.user?.identity })
        free.removeAll { sent[$0].row.map(rows.contains) ?? false }
        for (place, turn) in turns.enumerated() where byTurn[place] == nil {
            // A row with a key that is not ours belongs to another sender.
            guard let user = turn.user, user.runKey == nil, let time = user.time else { continue }
            let found = free.firstIndex { index in
                sent[index].written?.contains(time) == true && sent[index].isShown(in: user)
            }
            if let found { byTurn[place] = sent[free.remove(at: found)] }
        }
    }
}
