package import Basics
import Gateway

extension RunTracker {
    /// A run that keeps its session busy.
    package struct BusyRun: Sendable {
        package let id: String
        package let session: SessionKey
        /// A send of ours that another run is to answer.
        package let isDeferred: Bool
    }
}

/// The runs, as the link and the outbox see them.
extension RunMemory {
    /// Newest first.
    func runs(activeOnly: Bool, session: SessionKey?) -> [Run] {
        let found = all.filter { reducer in
            (!activeOnly || reducer.isActive) && (session == nil || reducer.session == session) && !reducer.isRemembered
        }
        return found.map(\.run).sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }

    func recentSessions(_ most: Int, besides main: SessionKey) -> [SessionKey] {
        let others = sessions.filter { $0.key != main }.sorted { $0.value.touchedAt > $1.value.touchedAt }
        return others.prefix(most).map(\.key)
    }

    func busyRuns(resumesRuns: Bool) -> [RunTracker.BusyRun] {
        sessions.flatMap { session, runs in
            runs.active.compactMap { id in
                guard let reducer = self[id] else { return nil }
                let isDeferred = runs.deferred.contains(id) && !reducer.isGone
                let goesOn = reducer.isStartPublished && reducer.state == .running
                // A run that the gateway may take up again keeps its session busy; a message that we send again does not.
                let mayGoOn = !reducer.isGone || (resumesRuns && !reducer.awaitsDelivery)
                guard isDeferred || (goesOn && mayGoOn) else { return nil }
                return RunTracker.BusyRun(id: id, session: session, isDeferred: isDeferred)
            }
        }
    }

    mutating func takeChangedBusyRuns(resumesRuns: Bool) -> [RunTracker.BusyRun] {
        var changedSessions: Set<SessionKey> = []
        var changed: Set<String> = []
        for (session, runs) in sessions {
            for id in runs.active where self[id]?.takeNews() == true {
                changed.insert(id)
                changedSessions.insert(session)
            }
        }
        guard !changed.isEmpty else { return [] }
        return busyRuns(resumesRuns: resumesRuns).filter {
            changed.contains($0.id) || ($0.isDeferred && changedSessions.contains($0.session))
        }
    }

    /// - Parameter process: when it began, by the gateway's clock.
    mutating func reconnected(isSameProcess: Bool?, process: Timestamp?, now: Timestamp) {
        for (session, runs) in sessions where !runs.active.isEmpty || !runs.interrupted.isEmpty {
            let gone = runs.active.filter { isSameProcess == false || self[$0]?.began(before: process) == true }
            for id in runs.active {
                self[id]?.reconnected(
                    isGone: gone.contains(id),
                    isNewProcess: isSameProcess == false,
                    process: process,
                    now: now
                )
            }
            self[session: session]?.looks = 0
            self[session: session]?.lookedAt = nil
            // Only in the memory of that process.
            if isSameProcess == false { self[session: session]?.deferred = [] }
            let interrupted = gone.filter { self[$0]?.hasBegun == true }
            let givenUp = runs.interrupted.filter { self[$0]?.mayBeTakenUpLate(now: now) == true }
            if isSameProcess == false || !interrupted.isEmpty {
                self[session: session]?.interrupted = givenUp + interrupted
            }
        }
    }

    /// - Parameter session: nil where it is not known.
    func run(asking approval: String, session: SessionKey?) -> String? {
        let searched = session.map { [$0] } ?? Array(sessions.keys)
        return searched.lazy.compactMap { key in
            self[session: key]?.all.last { self[$0]?.steps.contains(approval: approval) ?? false }
        }.first
    }

    mutating func approvalEnded(_ approval: String, _ decision: ApprovalEvent.Decision, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for runs in sessions.values {
            for id in runs.active where self[id]?.steps.contains(approval: approval) ?? false {
                self[id]?.approvalEnded(approval, decision, at: now)
                publish(id, to: &changes)
            }
        }
        return changes
    }
}
