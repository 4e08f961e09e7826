import Basics
import Gateway
import Ledger

/// A user's row of the transcript and all rows up to the next user's row. A row that names another run is a turn by itself. A message
/// that a run at work read begins a further turn of that run.
struct TranscriptTurn: Sendable {
    var user: TranscriptRow?
    var rows: [TranscriptRow] = []
    var key: String?
    /// The messages of the user's row: a busy gateway joins several into one turn.
    private(set) var messages: [Words] = []
    /// The last answer before the turn.
    private var before: TranscriptRow?

    /// The user's message is not the one that the run answers: the run read it while it was at work.
    var isJoined: Bool { user?.joinedRun != nil }

    /// The user's row is that of the message with which a run begins, as it was sent.
    var beginsRun: Bool { user.map { $0.joinedRun == nil && !$0.resumesTurn } ?? false }

    /// The gateway answered the turn whole, so the runs of turns before are over: a session has one run at a time. A command is answered
    /// beside a run.
    var endsEarlierRuns: Bool { beginsRun && !isCommand && answeredAt != nil }

    /// The keys of its messages.
    var keys: [String] { (key.map { [$0] } ?? []) + (user?.joinedKeys ?? []) }

    /// The run that wrote the rows, where they name it.
    var writingRun: String? { rows.lazy.compactMap(\.writingRun).first }

    var time: Timestamp? { user?.time ?? rows.lazy.compactMap(\.time).first }

    /// When the turn had its whole answer.
    var answeredAt: Timestamp? { rows.last { !isNote($0) && $0.stopReason == .completed }?.time }

    /// Whether its last row is that of an answer, an error or a stop.
    var showsEnd: Bool {
        switch rows.last(where: { !isNote($0) })?.stopReason {
        case .completed, .error, .aborted: true
        case .toolUse, .other, nil: false
        }
    }

    var callIDs: [String] {
        rows.flatMap { row in
            let own = row.toolCallId.map { [$0] } ?? []
            return own + row.blocks.compactMap { if case .toolCall(let id, _, _) = $0 { id } else { nil } }
        }
    }

    /// The run with which the turn is on the stream: that of its answer, else that of another client's message.
    /// - Parameters:
    ///   - told: the runs on the stream, by message.
    ///   - earlier: the messages of turns before, which the gateway has repeated behind this one.
    func run(told: [String: String], besides earlier: Set<String>) -> String? {
        let answers = rows.filter { !isNote($0) }
        return (answers + [user].compactMap(\.self)).lazy.map(\.messageID)
            .filter { !earlier.contains($0) }.compactMap { told[$0] }.first
    }

    /// The turn as something that a run may own.
    func row(names: [String] = []) -> Attribution.Row {
        var row = Attribution.Row(
            names: names,
            isNamed: !keys.isEmpty || !names.isEmpty,
            mask: user?.idempotencyKey.flatMap { MaskedKey($0) },
            isUser: user != nil,
            words: messages,
            at: time,
            calls: callIDs,
            isResumption: user?.resumesTurn ?? false
        )
        row.id = user?.messageID
        row.tries = tries
        row.says = { [self] in answer.hasPrefix($0) }
        return row
    }

    /// The time of the first error, and of the last row behind it.
    private var tries: ClosedRange<Timestamp>? {
        guard let first = rows.first(where: { $0.stopReason == .error && !isNote($0) })?.time,
            let last = rows.last(where: { !isNote($0) })?.time
        else { return nil }
        return first <= last ? first...last : nil
    }

    /// The text of the rows as a run shows it.
    private var answer: String {
        rows.filter { $0.role == .assistant && $0.stopReason != .error && !isNote($0) }.map { ReplyText.clean($0.text) }
            .joined(separator: "\n\n")
    }

    func isWritten(in window: ClockWindow) -> Bool { time.map { window.contains($0) } ?? false }

    /// Whether the user's row has this message, alone or as one of several messages that the gateway joined into one turn.
    func carries(_ message: Words) -> Bool { messages.contains { $0.show(message) } }

    /// Whether the gateway added the row by itself behind the turn, so that the row is no answer. An injected row behind a command
    /// is the answer. A row about a message that was turned away stands behind whatever was the last turn.
    func isNote(_ row: TranscriptRow) -> Bool {
        (row.isInjected && !isCommand) || row.turnsAway || repeatsAnswer(row)
    }

    private var isCommand: Bool { messages.first?.isCommand ?? false }

    /// Whether the row repeats the previous turn's answer. June gateways write such a row, marked as that of a command-line model,
    /// if the next message's row was written before the answer was complete.
    private func repeatsAnswer(_ row: TranscriptRow) -> Bool {
        guard let before, row.isByCommandLine, !before.isByCommandLine else { return false }
        let words = Words(ReplyText.clean(row.text))
        return !words.isEmpty && words == Words(ReplyText.clean(before.text))
    }

    static func split(_ rows: [TranscriptRow]) -> [TranscriptTurn] {
        var turns: [TranscriptTurn] = []
        var current = TranscriptTurn()
        var apart: [TranscriptTurn] = []
        var answer: TranscriptRow?
        for row in rows {
            if row.role == .assistant, !row.text.isEmpty { answer = row }
            if row.role == .user {
                if current.user != nil || !current.rows.isEmpty { turns.append(current) }
                turns += apart
                apart.removeAll()
                let key = row.joinedRun ?? row.runKey
                current = TranscriptTurn(user: row, key: key, messages: Words.messages(of: row), before: answer)
            } else if let key = row.runKey, key != current.key {
                apart.append(TranscriptTurn(rows: [row], key: key))
            } else if row.role != .other {
                current.rows.append(row)
            }
        }
        if current.user != nil || !current.rows.isEmpty { turns.append(current) }
        return turns + apart
    }
}
