import Basics
import Gateway

/// Finds which runs the turns of a transcript belong to. A turn that may be another run's is nobody's: its answer would be told as
/// the answer to the wrong message.
struct TurnMatch: Sendable {
    struct Candidate: Sendable {
        let id: String
        /// Other releases write no keys, so a run may be found by these.
        var starts: [Timestamp] = []
        /// Seen first in the middle: its user's row is the last one before this time.
        var joinedAt: Timestamp?
        /// The words of our own message, and when we sent it.
        var message: String?
        /// Its start is not known for certain, so the words have to do.
        var mayMatchByWords = false
        var sentAt: Timestamp
        /// Its last sign of life, once it has ended.
        var endedAt: Timestamp?
        var calls: @Sendable (String) -> Bool
    }

    /// The user's row of a run bears the time of its start, to the millisecond; a loaded gateway may take longer between them.
    private static let startTolerance: Int64 = 100
    /// A message of ours is in no row that is older than its sending by more than the two clocks may differ.
    static let clockTolerance: Int64 = 2_000

    private(set) var owners: [Int: String] = [:]

    /// - Parameters:
    ///   - beginsInside: the first rows may be the later part of a turn.
    ///   - owner: the run of a key that the gateway wrote; `.some(nil)` where it is none of these.
    init(
        _ turns: [HistoryTurn],
        _ candidates: [Candidate],
        beginsInside: Bool = true,
        owner: (String) -> String?
    ) {
        for (place, turn) in turns.enumerated() {
            if let key = turn.key {
                if let id = owner(key) { owners[place] = id }
            } else if let id = Self.caller(of: turn, among: candidates) {
                owners[place] = id
            }
        }
        let open = turns.indices.filter { owners[$0] == nil && turns[$0].key == nil && turns[$0].user != nil }
        for candidate in candidates { claimByStart(open, of: turns, for: candidate) }
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
                owners[place] == nil && distance(turns[place], start) <= Self.startTolerance
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
                owners[place] == nil && turns[place].isWritten(after: candidate.sentAt) && turns[place].carries(message)
            }
            if let found { owners[found] = candidate.id }
        } else if let joined = candidate.joinedAt {
            let until = joined.adding(milliseconds: Self.startTolerance)
            let last = turns.indices.last { place in
                turns[place].user != nil && turns[place].time.map { $0 <= until } ?? false
            }
            if let last, owners[last] == nil, open.contains(last) { owners[last] = candidate.id }
        }
    }

    /// A start may be another run's that began in the same moment; our own words tell.
    private func fits(_ turn: HistoryTurn, _ candidate: Candidate, _ start: Timestamp) -> Bool {
        guard let message = candidate.message, !message.isEmpty else { return true }
        return turn.carries(message) || distance(turn, start) <= 2
    }

    private func distance(_ turn: HistoryTurn, _ start: Timestamp) -> Int64 {
        guard let time = turn.time else { return .max }
        return abs(time.milliseconds - start.milliseconds)
    }

    /// Rows without their user's row: the later part of a long turn, or a row that came as an event. They are the run's in whose
    /// time they were written.
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
