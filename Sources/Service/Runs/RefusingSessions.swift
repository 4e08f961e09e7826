import Basics
import Gateway
import Ledger

/// Finds the sessions in which the gateway would not run the next message. After a restart, June gateways run one message of each
/// session that is older than their process, and acknowledge the next one without running it (`init-conflict.v2026.6.11`). The row
/// of that message stays and is read with the one after it, so Ladle holds messages to such a session back. Once a run completes in
/// a session that is new to the process, the gateway runs the messages of all sessions again.
struct RefusingSessions {
    enum Finding: Equatable {
        /// The session had its one run.
        case refuses
        /// The gateway runs the messages of all sessions.
        case refusesNoMore
        case nothing
    }

    /// The start of the gateway's process, by its clock; nil if it runs every message.
    private var startedAt: Timestamp?
    /// Sessions that are new to this process and have a run that has not completed yet.
    private var new: Set<SessionKey> = []
    /// Sessions with a run that completed before a page showed how old they are.
    private var completed: Set<SessionKey> = []
    private static let mostCompleted = 256

    /// A connection was opened.
    mutating func linkOpened(_ profile: GatewayProfile?, _ process: GatewayProcess?, isSame: Bool) {
        guard !isSame else { return }
        (new, completed) = ([], [])
        startedAt = profile?.refusesInOldSessions == true ? process?.startedAt : nil
    }

    /// The gateway refused a message that it had acknowledged.
    mutating func sawRefusal(by process: GatewayProcess?) { startedAt = startedAt ?? process?.startedAt }

    /// Whether a page of a session's transcript is wanted when a run begins there.
    var wantsPages: Bool { startedAt != nil }

    /// A run has begun in the session, and this is a page of its transcript.
    mutating func runBegan(_ run: String, in session: SessionKey, _ rows: [TranscriptRow]) -> Finding {
        guard let startedAt else { return .nothing }
        let isOld = rows.contains { $0.time.map { $0 < startedAt } ?? false }
        guard isOld else {
            if completed.contains(session) { return cured() }
            new.insert(session)
            return .nothing
        }
        let earlier = rows.filter { $0.role == .user && $0.runKey.map { !$0.hasPrefix(run) } ?? true }
        // A second run since the start shows that the gateway was cured before.
        let hasRunBefore = earlier.contains { row in
            row.time.map { $0 >= startedAt } ?? false && isAnswered(row, in: rows)
        }
        return hasRunBefore ? cured() : .refuses
    }

    private func isAnswered(_ user: TranscriptRow, in rows: [TranscriptRow]) -> Bool {
        guard let place = rows.firstIndex(where: { $0.identity == user.identity }) else { return false }
        return rows[(place + 1)...].prefix { $0.role != .user }.contains { $0.stopReason == .completed }
    }

    mutating func runEnded(in session: SessionKey, isCompleted: Bool) -> Finding {
        guard isCompleted, startedAt != nil else { return .nothing }
        if new.contains(session) { return cured() }
        if completed.count < Self.mostCompleted { completed.insert(session) }
        return .nothing
    }

    private mutating func cured() -> Finding {
        startedAt = nil
        (new, completed) = ([], [])
        return .refusesNoMore
    }
}
