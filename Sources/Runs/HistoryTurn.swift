import Basics
import Gateway

/// A user's row of the transcript and all rows up to the next user's row. A row that names another run is a turn by itself.
struct HistoryTurn: Sendable {
    var user: HistoryRow?
    var rows: [HistoryRow] = []
    var key: String?
    /// The last answer before the turn.
    private var before: HistoryRow?

    var time: Timestamp? { user?.time ?? rows.lazy.compactMap(\.time).first }
    var words: String { user?.text ?? "" }

    var callIDs: [String] {
        rows.flatMap { row in
            let own = row.toolCallId.map { [$0] } ?? []
            return own + row.blocks.compactMap { if case .toolCall(let id, _, _) = $0 { id } else { nil } }
        }
    }

    /// Whether the turn was written after a message was sent at this time, as far as the clocks agree.
    func isWritten(after sending: Timestamp) -> Bool {
        time.map { $0 >= sending.adding(milliseconds: -TurnMatch.clockTolerance) } ?? false
    }

    /// Whether the user's row has this message, alone or as one of several messages that the gateway joined into one turn.
    func carries(_ message: String) -> Bool {
        !message.isEmpty && messages.contains(message)
    }

    /// The messages of the user's row, as ours are compared with them.
    var messages: [String] {
        guard let text = user?.text else { return [] }
        return InboundEnvelope.joined(text)?.map(Self.compared) ?? [Self.compared(text)]
    }

    /// Whether the gateway wrote the row by itself behind the turn, so that it answers nothing. To a command it is the answer.
    func isNote(_ row: HistoryRow) -> Bool {
        (row.isInjected && !isCommand) || repeatsAnswer(row)
    }

    private var isCommand: Bool { user.map { $0.words.hasPrefix("/") || $0.words.hasPrefix("!") } ?? false }

    /// Whether the row is the answer before this turn once more. June gateways write it so, as by a command-line model, where the next
    /// message's row stands before the answer is complete.
    private func repeatsAnswer(_ row: HistoryRow) -> Bool {
        guard let before, row.isByCommandLine, !before.isByCommandLine else { return false }
        let words = Self.said(row)
        return !words.isEmpty && words == Self.said(before)
    }

    private static func said(_ row: HistoryRow) -> String { ReplyText.clean(row.text).trimmingBlanks() }

    /// The part of our message that is compared with rows: gateways put text in front of a message and cut long messages.
    static func compared(_ text: String) -> String {
        String(InboundEnvelope.stripped(text).prefix(comparedCharacters)).trimmingBlanks()
    }

    /// Fewer characters than any gateway shows of a row.
    private static let comparedCharacters = 4_000

    static func split(_ rows: [HistoryRow]) -> [HistoryTurn] {
        var turns: [HistoryTurn] = []
        var current = HistoryTurn()
        var apart: [HistoryTurn] = []
        var answer: HistoryRow?
        for row in rows {
            if row.role == .assistant, !row.text.isEmpty { answer = row }
            if row.role == .user {
                if current.user != nil || !current.rows.isEmpty { turns.append(current) }
                turns += apart
                apart.removeAll()
                current = HistoryTurn(user: row, key: row.runKey, before: answer)
            } else if let key = row.runKey, key != current.key {
                apart.append(HistoryTurn(rows: [row], key: key))
            } else if row.role != .other {
                current.rows.append(row)
            }
        }
        if current.user != nil || !current.rows.isEmpty { turns.append(current) }
        return turns + apart
    }
}
