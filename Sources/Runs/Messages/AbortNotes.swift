import Basics
import Gateway
import Ledger

/// Sorts the notes in which the gateway keeps the text of aborted runs. A note may stand before its user's row, and the model's own
/// rows may have the same text.
enum AbortNotes {
    /// The rows with each note after its user's row, and without notes whose text is in other rows of the turn.
    static func settled(_ rows: [TranscriptRow]) -> [TranscriptRow] {
        guard rows.contains(where: \.isAbortNote) else { return rows }
        var kept: [TranscriptRow] = []
        var displaced: [TranscriptRow] = []
        for (place, row) in rows.enumerated() {
            if row.isAbortNote {
                let isEarly = isBeforeItsQuestion(row, rows[(place + 1)...].first)
                if isSaid(row, in: turn(around: isEarly ? place + 1 : place, rows)) { continue }
                if isEarly {
                    displaced.append(row)
                    continue
                }
            }
            kept.append(row)
            if row.role == .user, !displaced.isEmpty {
                kept += displaced
                displaced.removeAll()
            }
        }
        return kept + displaced
    }

    private static func isBeforeItsQuestion(_ note: TranscriptRow, _ next: TranscriptRow?) -> Bool {
        guard let next, next.role == .user, let asked = next.time, let noted = note.time else { return false }
        // Where rows have keys, they tell whose question it is. The next one may have come before the stop.
        if let own = note.runKey, let key = next.runKey { return own == key }
        return asked < noted
    }

    /// The rows from one user's row to the next one.
    private static func turn(around place: Int, _ rows: [TranscriptRow]) -> ArraySlice<TranscriptRow> {
        let start = rows[...place].lastIndex { $0.role == .user } ?? rows.startIndex
        let end = rows[(place + 1)...].firstIndex { $0.role == .user } ?? rows.endIndex
        return rows[start..<end]
    }

    private static func isSaid(_ note: TranscriptRow, in turn: ArraySlice<TranscriptRow>) -> Bool {
        let noted = Words(note)
        let own = turn.filter { $0.role == .assistant && !$0.isAbortNote }
        // The model's last row may end a little before the note.
        let isContinued = own.contains { $0.stopReason == .aborted && noted.quote(Words($0)) }
        return isContinued || Words.joined(own.map { Words($0) }).quote(noted)
    }
}
