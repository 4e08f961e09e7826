package import Basics

/// Runs that an earlier process saw begin and not end.
extension RunBook {
    static let unknownEnd = "Ladle was not running when this run ended, and the gateway's history does not show how."

    /// Takes one up again; its start was told then. The next history page of its session shows how it stands.
    package mutating func resume(_ id: String, session: SessionKey, startedAt: Timestamp) {
        guard reducers[resolved(id)] == nil else { return }
        make(id, session: session, now: startedAt)
        reducers[id]?.resumed(at: startedAt)
        sessions[session]?.isUncertain = true
    }

    /// Nothing tells how it ended, and nothing is heard of it any more.
    package mutating func giveUp(_ id: String, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        guard reducers[id]?.isActive == true else { return changes }
        reducers[id]?.lastEvent = now
        reducers[id]?.evidence.settled(.failed, error: Self.unknownEnd)
        publish(id, to: &changes)
        return changes
    }
}
