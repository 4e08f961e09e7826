package import Basics
import Labels

/// What somebody has to wait for who is to find a session free.
extension RunTracker {
    /// What the gateway works on, or is still to work on.
    package struct UnderWay: Sendable {
        package let id: String
        package let session: SessionKey
        package let since: Timestamp
        /// A send of ours that waits for another run to answer it.
        package let isDeferred: Bool
    }

    /// As far as was told; a send that is only accepted is not among them.
    package var underWay: [UnderWay] {
        sessions.flatMap { session, runs in
            runs.active.compactMap { id in
                guard let reducer = reducers[id] else { return nil }
                let isDeferred = runs.waiting.contains(id)
                guard isDeferred || (reducer.isTold && reducer.state == .running) else { return nil }
                let since = reducer.startedAt ?? reducer.firstEvent ?? reducer.createdAt
                return UnderWay(id: id, session: session, since: since, isDeferred: isDeferred)
            }
        }
    }

    /// Those of which something was told since the last call, and what waits for them.
    package mutating func takeHeard() -> [UnderWay] {
        var busy: Set<SessionKey> = []
        var heard: Set<String> = []
        for (session, runs) in sessions {
            for id in runs.active where reducers[id]?.wasHeard == true {
                reducers[id]?.wasHeard = false
                heard.insert(id)
                busy.insert(session)
            }
        }
        guard !heard.isEmpty else { return [] }
        return underWay.filter { heard.contains($0.id) || ($0.isDeferred && busy.contains($0.session)) }
    }
}
