import Basics
import Gateway
import Ledger

/// Finds the run of each turn of a transcript. If a turn may belong to another run, it gets none: its answer would be published as
/// the answer to the wrong message.
struct TurnMatch: Sendable {
    struct Candidate: Sendable {
        let id: String
        /// The reported starts. They find the run's turn in releases that write no keys into rows.
        var starts: [Timestamp] = []
        /// When Ladle first saw a run whose start it missed. The last user's row before this time is the run's.
        var joinedAt: Timestamp?
        /// The words of our message.
        var message: Words?
        /// The start is not certain, so the message's words may find the turn.
        var mayMatchByWords = false
        /// When we sent the message.
        var sentAt: Timestamp
        /// When the run was last seen, once it has ended.
        var endedAt: Timestamp?
        var calls: @Sendable (String) -> Bool
    }

    private(set) var owners: [Int: String] = [:]

    /// - Parameters:
    ///   - beginsInside: the first rows may be the later part of a turn.
    ///   - owner: the run of a key that the gateway wrote into a row; nil if Ladle does not show such a run.
    init(
        _ turns: [HistoryTurn],
        _ candidates: [Candidate],
        beginsInside: Bool = true,
        owner: (String) -> String?
    ) {
        var named: Set<String> = []
        for (place, turn) in turns.enumerated() {
            if let key = turn.key {
                guard let id = owner(key) else { continue }
                owners[place] = id
                if turn.user != nil { named.insert(id) }
            } else if let id = Self.caller(of: turn, among: candidates) {
                owners[place] = id
            }
        }
        let open = turns.indices.filter { owners[$0] == nil && turns[$0].key == nil && turns[$0].user != nil }
        // A row of another channel, which has no key, may have the time of a run whose own row has one.
        for candidate in candidates where !named.contains(candidate.id) {
            claimByStart(open, of: turns, for: candidate)
        }
        for candidate in candidates { claimByWords(open, of: turns, for: candidate) }
        if beginsInside { claimBeginning(of: turns, candidates) }
    }

    private static func caller(of turn: HistoryTurn, among candidates: [Candidate]) -> String? {
        let calls = turn.callIDs
        guard !calls.isEmpty else { return nil }
        return candidates.last { candidate in calls.contains { candidate.calls($0) } }?.id
    }

    private mutating func claimByStart(_ open: [Int], of turns: [HistoryTurn], for candidate: Candidate) {
        for start in candidate.starts {
            let near = open.filter { place in
                owners[place] == nil && turns[place].isWritten(in: .row(startedAt: start))
                    && fits(turns[place], candidate, start)
            }
            let best = near.min { distance(turns[$0], start) < distance(turns[$1], start) }
            if let best { owners[best] = candidate.id }
        }
    }

    private mutating func claimByWords(_ open: [Int], of turns: [HistoryTurn], for candidate: Candidate) {
        guard !owners.values.contains(candidate.id) else { return }
        if let message = candidate.message {
            guard candidate.mayMatchByWords else { return }
            let found = open.first { place in
                owners[place] == nil && turns[place].isWritten(in: .row(sentAt: candidate.sentAt))
                    && turns[place].carries(message)
            }
            if let found { owners[found] = candidate.id }
        } else if let joined = candidate.joinedAt {
            let last = turns.indices.last { turns[$0].user != nil && turns[$0].isWritten(in: .row(seenAt: joined)) }
            if let last, owners[last] == nil, open.contains(last) { owners[last] = candidate.id }
        }
    }

    /// Another run may have begun in the same moment, so the row also has to have our message.
    private func fits(_ turn: HistoryTurn, _ candidate: Candidate, _ start: Timestamp) -> Bool {
        guard let message = candidate.message, !message.isEmpty else { return true }
        return turn.carries(message) || turn.isWritten(in: .onlyRow(startedAt: start))
    }

    private func distance(_ turn: HistoryTurn, _ start: Timestamp) -> Int64 {
        guard let time = turn.time else { return .max }
        return abs(time.milliseconds - start.milliseconds)
    }

    /// Rows without their user's row are the later part of a long turn, or one row that came as an event. They belong to the run
    /// that was under way when they were written.
    private mutating func claimBeginning(of turns: [HistoryTurn], _ candidates: [Candidate]) {
        guard let first = turns.first, first.user == nil, first.key == nil, owners[0] == nil, let time = first.time
        else {
            return
        }
        let writers = candidates.filter { candidate in
            guard let start = candidate.starts.first ?? candidate.joinedAt else { return false }
            return start <= time && candidate.endedAt.map { time <= $0 } ?? true
        }
        let last = writers.max {
            ($0.starts.last ?? $0.joinedAt ?? $0.sentAt) < ($1.starts.last ?? $1.joinedAt ?? $1.sentAt)
        }
        if let last { owners[0] = last.id }
    }
}
