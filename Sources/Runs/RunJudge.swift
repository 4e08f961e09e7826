import Basics
import Gateway
import Ledger

/// Decides whether a page of the transcript shows that a run is over, and how it ended.
struct RunJudge: Sendable {
    enum Verdict: Sendable {
        /// - Parameter isInterrupted: Ladle did not see the run begin, and the gateway's process is gone that worked on it.
        case judged(RunReducer, isInterrupted: Bool)
        /// Nothing was shown of the run, and nothing will come.
        case dropped
    }

    let page: ChatHistory.Output
    /// The rows of the run's own turn.
    let rows: [HistoryRow]
    /// How the page says the session's last run ended; nil for all other runs.
    let end: Ending.How?
    /// The page says that this run is under way.
    let isInFlight: Bool
    let profile: GatewayProfile
    let now: Timestamp

    func verdict(on reducer: RunReducer) -> Verdict {
        var judged = reducer
        let unchanged = Verdict.judged(reducer, isInterrupted: false)
        guard reducer.isActive else { return unchanged }
        // Ladle never saw the run start, and the transcript has no row of it.
        let isNothing =
            rows.isEmpty && !reducer.message.isStored && reducer.isUnaccountedFor
            && !reducer.publication.isStartPublished
            && !reducer.message.mayBeRefused
        if reducer.isOver {
            if isNothing { return .dropped }
            judged.end(by: rows)
        } else if reducer.contact.isProcessGone {
            return verdictOnGone(reducer)
        } else if reducer.contact.isUncertain || reducer.contact.isSilent(now: now) {
            guard !isInFlight else {
                judged.heard(at: now)
                return .judged(judged, isInterrupted: false)
            }
            judged.end(by: rows)
            if judged.isActive, page.hasActiveRun == false {
                if isNothing { return .dropped }
                if reducer.hasBegun || reducer.message.isStored, end != nil || judged.isStillShownOver(now: now) {
                    // Ladle saw no event of the run, but the transcript has the message.
                    if !reducer.hasBegun { judged.began(at: reducer.times.start) }
                    judged.end(.reported(end), now: now)
                }
            }
        }
        return .judged(judged, isInterrupted: false)
    }

    /// The process that worked on the run is gone. If it completed the answer, the answer is in the transcript. A newer gateway may
    /// resume the run by itself. A message without a row is sent again.
    private func verdictOnGone(_ reducer: RunReducer) -> Verdict {
        var judged = reducer
        judged.end(by: rows)
        guard judged.isActive, let gone = reducer.contact.goneAt else { return .judged(judged, isInterrupted: false) }
        let beganUnseen = !reducer.hasBegun
        if beganUnseen {
            // The outbox first asks whether the message ran: the gateway also writes the row of a message that it refuses.
            if reducer.message.awaitsDelivery, !reducer.message.isStored || profile.pagesTellRuns {
                return .judged(judged, isInterrupted: false)
            }
            guard reducer.message.isStored else { return .dropped }
            // The run began while Ladle was away. The gateway may resume it.
            judged.began(at: reducer.times.start)
        }
        let mayResume = profile.resumesRuns && page.lastRunEnd == nil && reducer.message.isInTranscript
        let hasTime = now.milliseconds - gone.milliseconds < GatewayProfile.resumeMs
        if !reducer.message.awaitsDelivery, !(mayResume && hasTime) { judged.end(.processGone, now: now) }
        return .judged(judged, isInterrupted: beganUnseen)
    }

    static func end(_ end: ChatHistory.RunEnd?) -> Ending.How? {
        switch end {
        case .completed: .completed
        case .failed: .failed
        case .aborted: .aborted
        case nil: nil
        }
    }
}
