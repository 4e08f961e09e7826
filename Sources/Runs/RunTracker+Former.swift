package import Basics

/// Runs that an earlier process saw begin and not end.
extension RunTracker {
    static let unknownEnd = "Ladle was not running when this run ended, and the gateway's history does not show how."

    /// Takes one up again; its start was told then. The next history page of its session shows how it stands.
    /// `steps` are the numbers of the steps told then, by step id.
    package mutating func resume(_ id: String, session: SessionKey, startedAt: Timestamp, steps: [String: Int] = [:]) {
        guard reducers[resolved(id)] == nil else { return }
        make(id, session: session, now: startedAt)
        reducers[id]?.resumed(at: startedAt, isTold: true, steps: steps)
        sessions[session]?.isUncertain = true
    }

    /// A message that the gateway took from an earlier process; its run began unseen, and may be over. Its session's
    /// history is to show it.
    package mutating func recover(_ id: String, session: SessionKey, text: String, sentAt: Timestamp) {
        guard reducers[resolved(id)]?.hasBegun != true, !isHidden(id) else { return }
        if reducers[id] == nil { make(id, session: session, now: sentAt) }
        reducers[id]?.sentText = text
        reducers[id]?.resumed(at: sentAt, isTold: false)
        sessions[session]?.isUncertain = true
    }

    /// Nothing tells how it ended, and nothing is heard of it any more.
    package mutating func giveUp(_ id: String, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        guard let reducer = reducers[id], reducer.isActive else { return changes }
        guard reducer.isTold else {
            forget(id, session: reducer.session)
            return changes
        }
        reducers[id]?.lastEvent = now
        reducers[id]?.evidence.settled(.failed, error: Self.unknownEnd)
        publish(id, to: &changes)
        return changes
    }
}
