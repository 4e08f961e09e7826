package import Basics
import Gateway
package import Ledger

/// Our message, as the outbox has it. The transcript has it as a row, which names our key only on newer gateways.
package struct SentMessage: Sendable {
    /// The outbox entry.
    package var id: String
    /// The id of the run that answers the message, and the keys with which it was sent.
    package var keys: [String]
    package let text: String?
    package var attachments: [MessageAttachment]
    /// The run of a message that may have left no row. A row of another run is not the message's.
    package var run: String?
    /// The run that the entry names. The rows behind the message may be those of a run that was interrupted before.
    package var answeredBy: String?
    /// False for a message that the gateway refused to run, though it may have read its row with another one.
    package var hasRun: Bool
    /// The gateway wrote the message's row between these times of its clock; nil for a message that was not sent yet.
    package var written: ClockWindow?
    /// The start of the run behind which it waits or waited, by the gateway's clock: its row comes after that run's.
    package var waitsBehind: Timestamp?
    /// When it was sent, by the gateway's clock. A row that seems older is rather another client's.
    package var sentAt: Timestamp?
    /// The row in which an earlier page showed the message.
    package var row: String?
    /// The outbox will send the message, although its row may be there: June gateways write the row of a message that they refuse.
    package var isToBeSent: Bool
    /// Why the outbox gave the message up, although its row may be there.
    package var failure: String?
    /// False if the outbox has forgotten the message or another Ladle sent it. Then the message's id comes from its key alone.
    package var isKept: Bool
    private let words: Words?

    package init(
        id: String,
        keys: [String],
        text: String?,
        attachments: [MessageAttachment] = [],
        run: String? = nil,
        answeredBy: String? = nil,
        hasRun: Bool = true,
        written: ClockWindow? = nil,
        waitsBehind: Timestamp? = nil,
        sentAt: Timestamp? = nil,
        row: String? = nil,
        isToBeSent: Bool = false,
        failure: String? = nil,
        isKept: Bool = true
    ) {
        self.id = id
        self.keys = keys
        self.text = text
        self.attachments = attachments
        self.run = run
        self.answeredBy = answeredBy
        self.hasRun = hasRun
        self.written = written
        self.waitsBehind = waitsBehind
        self.sentAt = sentAt
        self.row = row
        self.isToBeSent = isToBeSent
        self.failure = failure
        self.isKept = isKept
        words = text.map { Words($0) }
    }

    /// Whether a key is one of this message's. After a refusal the outbox sends the message again with the entry's id, `-r` and a
    /// number as its key.
    func owns(_ key: String) -> Bool { key == id || keys.contains(key) || key.hasPrefix(id + "-r") }

    /// A message whose row is known does not claim another row by its words, unless a restarted gateway writes it again.
    func asShown(in row: TranscriptRow) -> SentMessage {
        guard let known = self.row, known != row.identity, !row.resumesTurn else { return self }
        var message = self
        message.written = nil
        return message
    }

    /// The tracker knows of a run in the way before the database does.
    func waiting(in tracker: RunTracker) -> SentMessage {
        var message = self
        let start = keys.lazy.compactMap { tracker.startBefore($0) }.first
        message.waitsBehind = [waitsBehind, start].compactMap(\.self).max()
        return message
    }

    /// A row that an earlier page showed as the message's by its words alone is not its own, if its run began with another one, or if it comes
    /// before the run behind which the message waited.
    /// - Parameter times: the times of rows.
    fileprivate func asBegun(in rows: [String], _ times: [String: Timestamp]) -> SentMessage {
        guard let row else { return self }
        let isBefore = times[row].map { !ClockWindow.always.behind(waitsBehind).contains($0) } ?? false
        guard isBefore || (!rows.isEmpty && !rows.contains(row)) else { return self }
        var message = self
        message.row = nil
        return message
    }

    fileprivate var claimant: Attribution.Claimant {
        var claimant = Attribution.Claimant(id, keys: keys, words: words, written: written?.behind(waitsBehind)) {
            [self] name in
            owns(name) || name == row
        }
        claimant.run = run
        claimant.sentAt = sentAt
        return claimant
    }

    fileprivate func isShown(in row: TranscriptRow) -> Bool { words.map { Words(row).show($0) } ?? false }
}

extension [SentMessage] {
    /// Our messages among the turns of a transcript, by the turn's place. Where a row may be that of several, it is shown as the first
    /// one's whose row is not known yet: a list has each message once.
    /// - Parameter runs: the known runs of turns, by the turn's place.
    func found(in turns: [TranscriptTurn], runs: [Int: String]) -> [Int: SentMessage] {
        guard !isEmpty else { return [:] }
        let rows = turns.enumerated().map { place, turn in
            // The answer to a gateway's own prompt may be our message's; the prompt is not.
            guard let user = turn.user, !user.resumesUnnamedTurn else { return Attribution.Row(isUser: false, at: nil) }
            // A row that a run at work read is not that of the message with which the run began.
            let run = user.joinedRun == nil ? runs[place] : nil
            var row = turn.row(names: [user.runKey, run, user.identity].compactMap { $0 } + user.joinedKeys)
            row.isNamed = user.runKey != nil || !user.joinedKeys.isEmpty
            row.run = run
            return row
        }
        let begun = Dictionary(grouping: turns.indices.filter { turns[$0].beginsRun && runs[$0] != nil }) { runs[$0] }
            .mapValues { places in places.compactMap { turns[$0].user?.identity } }
        var times: [String: Timestamp] = [:]
        for turn in turns {
            if let user = turn.user, let time = turn.time, times[user.identity] == nil { times[user.identity] = time }
        }
        let messages = map { $0.asBegun(in: ([$0.id] + $0.keys).flatMap { begun[$0] ?? [] }, times) }
        let attribution = Attribution(rows, messages.map(\.claimant))
        let byID = Dictionary(messages.map { ($0.id, $0) }) { first, _ in first }
        var found = attribution.owners.compactMapValues { byID[$0.turn] }
        var shown = Set(found.values.map(\.id))
        for (place, ids) in attribution.shared.sorted(by: { $0.key < $1.key }) where found[place] == nil {
            guard let user = turns[place].user else { continue }
            let open = ids.filter { !shown.contains($0) && byID[$0]?.isShown(in: user) == true }
            guard let first = open.first(where: { byID[$0]?.row == nil }) ?? open.first else { continue }
            shown.insert(first)
            found[place] = byID[first]
        }
        return found
    }
}
