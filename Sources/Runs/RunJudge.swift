import Basics
import Gateway

/// Whether a page of the transcript shows that a run is over, and how it ended.
struct RunJudge: Sendable {
    enum Verdict: Sendable {
        /// - Parameter isInterrupted: it had begun unseen, in a process that is gone.
        case judged(RunReducer, isInterrupted: Bool)
        /// Nothing was shown of the run, and nothing comes of it.
        case dropped
    }

    let page: ChatHistory.Output
    /// The rows of the run's own turn.
    let rows: [HistoryRow]
    /// The session's word on the run, where it is the session's last one.
    let end: Run.State?
    /// The page names it as under way.
    let isInFlight: Bool
    let traits: GatewayTraits
    let now: Timestamp

    func verdict(on reducer: RunReducer) -> Verdict {
        var judged = reducer
        let unchanged = Verdict.judged(reducer, isInterrupted: false)
        guard reducer.isActive else { return unchanged }
        // Its start was never seen, and the transcript has nothing of it either.
        let isNothing =
            rows.isEmpty && !reducer.isStored && reducer.isUnaccountedFor && !reducer.isStartPublished
            && !reducer.mayBeRefused
        if reducer.isOver {
            if isNothing { return .dropped }
            judged.end(by: rows)
        } else if reducer.isGone {
            return verdictOnGone(reducer)
        } else if reducer.isUncertain || RunLooks.isSilent(reducer, now: now) {
            guard !isInFlight else {
                judged.isKnownAlive(now: now)
                return .judged(judged, isInterrupted: false)
            }
            judged.end(by: rows)
            if judged.isActive, page.hasActiveRun == false {
                if isNothing { return .dropped }
                if reducer.hasBegun || reducer.isStored, end != nil || judged.isStillShownOver(now: now) {
                    // Its message alone was written, while nobody looked.
                    if !reducer.hasBegun { judged.began(at: reducer.start) }
                    judged.end(.reported, session: end, now: now)
                }
            }
        }
        return .judged(judged, isInterrupted: false)
    }

    /// The process that worked on the run is gone. An answer that it completed stands in the transcript; a newer gateway may go on
    /// by itself; a message without a row is sent again.
    private func verdictOnGone(_ reducer: RunReducer) -> Verdict {
        var judged = reducer
        judged.end(by: rows)
        guard judged.isActive, let gone = reducer.goneAt else { return .judged(judged, isInterrupted: false) }
        let beganUnseen = !reducer.hasBegun
        if beganUnseen {
            // The outbox asks first whether it ran: the gateway writes the row of a message that it refuses, too.
            if reducer.awaitsDelivery, !reducer.isStored || traits.pagesTellRuns {
                return .judged(judged, isInterrupted: false)
            }
            guard reducer.isStored else { return .dropped }
            // The gateway took it up while nobody looked, and may do so again.
            judged.began(at: reducer.start)
        }
        let mayResume = traits.resumesRuns && page.lastRunEnd == nil && reducer.isStored
        let hasTime = now.milliseconds - gone.milliseconds < GatewayTraits.resumeMilliseconds
        if !reducer.awaitsDelivery, !(mayResume && hasTime) { judged.end(.processGone, now: now) }
        return .judged(judged, isInterrupted: beganUnseen)
    }

    static func state(_ end: ChatHistory.RunEnd?) -> Run.State? {
        switch end {
        case .completed: .completed
        case .failed: .failed
        case .aborted: .aborted
        case nil: nil
        }
    }
}
