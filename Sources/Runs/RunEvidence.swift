import Basics
import Labels

/// Decides from the gateway's reports how a run ended. Reports may be repeated and may contradict each other. A run is under way
/// until a report shows its end or shows that it is over; silence shows nothing.
struct RunEvidence: Sendable {
    /// Why a run is over although no event reported how it ended.
    enum Over: Sendable, Equatable {
        /// The gateway says that the run is over.
        case reported
        /// The gateway's process that worked on the run is gone.
        case processGone
        /// The gateway was restarted and goes on with the run under another id.
        case continued(as: String)
        /// The run's conversation was replaced by a new one.
        case conversationReset
        /// The run's conversation was replaced, and Ladle did not see whether the run had ended before.
        case replacedUnseen
        /// Ladle followed too many runs and gave this one up.
        case evicted
    }

    // The terminal chat events.
    private(set) var wasAborted = false
    private var chatFinal = false
    private var chatError: (sequence: Int64, text: String?)?
    /// The gateway may try the run again after the chat error.
    private var mayBeTriedAgain = false
    // The lifecycle events, with their sequence numbers.
    private var lastStart: Int64 = .min
    private var lastEnd: (sequence: Int64, failed: Bool, aborted: Bool)?
    private var lifecycleError: (sequence: Int64, text: String)?
    /// The end according to the transcript.
    private var row: (state: Run.State, error: String?)?
    private(set) var over: Over?
    /// How the session's last run ended, as the gateway says.
    private var sessionState: Run.State?
    /// The run ends at this time by our clock, as its lifecycle event said, unless a terminal chat event comes before.
    private var deadline: Timestamp?
    private var isSettled = false

    init() {}

    /// The evidence of an end that was published.
    init(_ published: Run) {
        switch published.end {
        case .completed: row = (.completed, nil)
        case .failed: (row, over) = ((.failed, published.error), .reported)
        case .aborted: (wasAborted, over) = (true, published.continuedAs.map { .continued(as: $0) })
        case .interrupted: over = published.continuedAs.map { .continued(as: $0) } ?? .processGone
        case .reset: over = .conversationReset
        case .evicted: over = .evicted
        case .unknown: over = .reported
        case nil: break
        }
    }

    mutating func aborted() { wasAborted = true }

    /// The transcript has the whole answer of a run that the gateway said it had stopped.
    mutating func stoppedInVain() {
        wasAborted = false
        settled(.completed, error: nil)
    }

    /// A final event overrides an earlier error, because the gateway tried again.
    mutating func finished() {
        chatFinal = true
        chatError = nil
    }

    /// - Parameter triesAgain: in this release the error may be that of the first try, with more tries to come.
    mutating func failed(_ text: String?, sequence: Int64, triesAgain: Bool, now: Timestamp) {
        mayBeTriedAgain = triesAgain
        if triesAgain { deadline = max(deadline ?? now, now.adding(milliseconds: Self.errorGrace)) }
        guard let known = chatError else {
            chatError = (sequence, text)
            return
        }
        if let text, sequence >= known.sequence { chatError = (sequence, text) }
    }

    mutating func started(sequence: Int64) {
        lastStart = max(lastStart, sequence)
        if mayBeTriedAgain, let known = chatError, known.sequence < sequence {
            chatError = nil
            deadline = nil
        }
        if let end = lastEnd, end.sequence < sequence { deadline = nil }
    }

    /// After an error the gateway often tries again, so an error counts only after a longer time without another start.
    mutating func ended(sequence: Int64, error: String?, failed: Bool, aborted: Bool, isFinal: Bool, now: Timestamp) {
        if let error, lifecycleError.map({ sequence >= $0.sequence }) ?? true { lifecycleError = (sequence, error) }
        if let known = lastEnd, known.sequence > sequence { return }
        lastEnd = (sequence, failed, aborted)
        guard sequence >= lastStart else { return }
        deadline = now.adding(milliseconds: failed && !isFinal ? Self.errorGrace : Self.endGrace)
    }

    /// The last row of the run's own turn shows how the run ended.
    mutating func settled(_ state: Run.State, error: String?) { row = (state, error) }

    mutating func isOver(_ reason: Over, session state: Run.State? = nil) {
        guard over == nil || isLate(reason) else { return }
        over = reason
        sessionState = state
    }

    /// A gateway that is busy after its start may resume a run long after Ladle gave the run up.
    private func isLate(_ reason: Over) -> Bool {
        guard over == .processGone, case .continued = reason else { return false }
        return true
    }

    /// - Returns: whether the deadline has just passed.
    mutating func settle(now: Timestamp) -> Bool {
        guard let deadline, now >= deadline, !isSettled else { return false }
        isSettled = true
        return true
    }

    /// The transcript has the whole answer.
    var isAnswered: Bool { row?.state == .completed }

    var isAwaitingRetry: Bool { mayBeTriedAgain && chatError != nil && !isSettled }

    /// An abort counts more than any event after it: only the transcript can refute it.
    var state: Run.State {
        if wasAborted { return .aborted }
        if chatFinal { return .completed }
        if chatError != nil, !mayBeTriedAgain { return .failed }
        if isSettled { return lastEnd.map { state(of: $0) } ?? .failed }
        // An error in the transcript may be the first of several tries.
        if let row, row.state != .failed || over != nil { return row.state }
        return over.map { state(over: $0) } ?? .running
    }

    private func state(of end: (sequence: Int64, failed: Bool, aborted: Bool)) -> Run.State {
        end.aborted ? .aborted : end.failed ? .failed : .completed
    }

    private func state(over reason: Over) -> Run.State {
        if let end = lastEnd, end.sequence >= lastStart { return state(of: end) }
        return switch reason {
        case .reported: sessionState ?? .failed
        case .processGone, .continued, .replacedUnseen, .evicted: .failed
        case .conversationReset: .aborted
        }
    }

    /// The run's own end was reported or is in the transcript, so the gateway has the message.
    var isProven: Bool {
        wasAborted || chatFinal || row != nil || (chatError != nil && !mayBeTriedAgain) || isSettled
    }

    /// The agent had the message: its run's end is known, or the run was seen to be lost with its conversation.
    var showsDelivery: Bool { isProven || over == .conversationReset }

    /// The error as the provider reported it, without secrets. Texts of our own are used only if no report has one.
    var error: String? {
        guard state == .failed else { return nil }
        if let text = lifecycleError?.text ?? chatError?.text ?? row?.error { return SecretMask.text(text) }
        if row?.state == .failed { return Self.noReason }
        return switch over {
        case .processGone: "The gateway was restarted during this run and does not go on with it."
        case .continued: "The gateway was restarted during this run and goes on with it in another run."
        case .reported: Self.unknownEnd
        case .replacedUnseen: Self.unseenEnd
        case .evicted: Self.tooMany
        case .conversationReset, nil: Self.noReason
        }
    }

    /// Nil while the run is active.
    var end: Run.End? {
        switch state {
        case .queued, .running: return nil
        case .completed: return .completed
        case .aborted:
            let isReset = !wasAborted && lastEnd == nil && row == nil && over == .conversationReset
            return isReset ? .reset : .aborted
        case .failed:
            guard lastEnd == nil, row == nil, chatError == nil else { return .failed }
            return switch over {
            case .processGone, .continued: .interrupted
            case .evicted: .evicted
            case .reported: sessionState == nil ? .unknown : .failed
            case .replacedUnseen: .unknown
            case .conversationReset, nil: .failed
            }
        }
    }

    /// The run in which the gateway goes on with this one.
    var continuedAs: String? {
        guard isInterrupted || state == .aborted, case .continued(let run)? = over else { return nil }
        return run
    }

    /// The run ended because the gateway's process was gone, and no other process is known to go on with it.
    var wasGivenUp: Bool { isInterrupted && over == .processGone }
    /// The gateway said that it stopped the run, and no other process is known to go on with it.
    var wasStopped: Bool { wasAborted && over == nil }

    var isInterrupted: Bool { end == .interrupted }

    /// How long to wait for the terminal chat event, which follows the end of the run at once.
    static let endGrace: Int64 = 3_000
    /// Releases of spring 2026 report the error up to 57 s after the first failure, with tries in between.
    private static let errorGrace: Int64 = 60_000
    private static let noReason = "The model stopped with an error."
    static let unknownEnd = "The gateway says that this run is over, and its history does not show how it ended."
    static let unseenEnd = "The session was reset while Ladle was away, so nothing shows how this run ended."
    static let tooMany =
        "More runs are under way than Ladle follows; how this one goes on is in the gateway's history."
}
