package import Basics
import Gateway

/// A message of ours as the outbox has it. A transcript shows it in a row of its own, with our key only on newer gateways.
package struct SentMessage: Sendable {
    /// The outbox entry.
    package var id: String
    /// The keys under which it went out, and the run that answers it.
    package var keys: [String]
    package var text: String?
    package var attachments: [MessageAttachment]
    /// Its row was written between these times, by the gateway's clock; nil for a message that has not gone out.
    package var written: ClosedRange<Timestamp>?
    /// The row in which it was found before.
    package var row: String?
    /// False: the outbox has forgotten it, or another Ladle sent it. Its key alone gives it an id.
    package var isKept: Bool

    package init(
        id: String,
        keys: [String],
        text: String?,
        attachments: [MessageAttachment] = [],
        written: ClosedRange<Timestamp>? = nil,
        row: String? = nil,
        isKept: Bool = true
    ) {
        self.id = id
        self.keys = keys
        self.text = text
        self.attachments = attachments
        self.written = written
        self.row = row
        self.isKept = isKept
    }

    /// A repeat after a refusal goes out under the entry's id, `-r` and a number.
    func owns(_ key: String) -> Bool { key == id || keys.contains(key) || key.hasPrefix(id + "-r") }

    /// A row shows these words, as the gateway keeps them; of a cut row only the beginning is there.
    func isShown(in row: HistoryRow) -> Bool {
        guard let text else { return false }
        let own = Self.kept(InboundEnvelope.stripped(text))
        guard let cut = row.cutText else { return !own.isEmpty && own == Self.kept(row.words) }
        let shown = Self.kept(InboundEnvelope.stripped(cut))
        return !shown.isEmpty && own.hasPrefix(shown)
    }

    /// Without control characters, which gateways take out, and without blanks around it.
    private static func kept(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where scalar == "\n" || scalar.properties.generalCategory != .control {
            scalars.append(scalar)
        }
        return String(scalars).trimmingBlanks()
    }
}

/// Finds our messages among the turns of a transcript. A key or a run is proof; without one the words and the time tell,
/// and of equal words the first one sent has the first row.
struct SentMessages {
    private(set) var byTurn: [Int: SentMessage] = [:]

    /// - Parameters:
    ///   - sent: oldest first.
    ///   - runs: the run of each turn, where it is known.
    init(_ sent: [SentMessage], in turns: [HistoryTurn], runs: [Int: String]) {
        guard !sent.isEmpty else { return }
        var free = sent.indices.map { $0 }
        for (place, turn) in turns.enumerated() {
            guard let user = turn.user else { continue }
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
            // A key that is none of ours is another sender's.
            guard let user = turn.user, user.runKey == nil, let time = user.time else { continue }
            let found = free.firstIndex { index in
                sent[index].written?.contains(time) == true && sent[index].isShown(in: user)
            }
            if let found { byTurn[place] = sent[free.remove(at: found)] }
        }
    }
}
