import Basics

/// How a run ended, out of the gateway's reports, which come more than once and do not always agree.
struct RunEvidence: Sendable {
    /// Terminal chat events.
    private(set) var wasAborted = false
    private var chatFailed = false
    private var chatFinal = false
    private var chatError: (sequence: Int64, text: String)?
    /// Lifecycle phases, by their number.
    private var lastStart: Int64 = .min
    private var lastEnd: (sequence: Int64, failed: Bool, aborted: Bool)?
    private var lifecycleError: (sequence: Int64, text: String)?
    /// The end according to the transcript.
    private var rowState: Run.State?
    private var rowError: String?
    /// Without a terminal chat event the run ends at this time by our clock.
    private var deadline: Timestamp?
    private var isSettled = false

    mutating func aborted() { wasAborted = true }
    mutating func finished() { chatFinal = true }

    mutating func failed(_ text: String?, sequence: Int64) {
        chatFailed = true
        guard let text, chatError.map({ sequence >= $0.sequence }) ?? true else { return }
        chatError = (sequence, text)
    }

    mutating func started(sequence: Int64) {
        lastStart = max(lastStart, sequence)
        if let end = lastEnd, end.sequence < sequence { deadline = nil }
    }

    /// An error is often tried again, so it counts only after a longer silence.
    mutating func ended(sequence: Int64, error: String?, failed: Bool, aborted: Bool, isFinal: Bool, now: Timestamp) {
        if let error, lifecycleError.map({ sequence >= $0.sequence }) ?? true { lifecycleError = (sequence, error) }
        if let known = lastEnd, known.sequence > sequence { return }
        lastEnd = (sequence, failed, aborted)
        guard sequence >= lastStart else { return }
        deadline = now.adding(milliseconds: failed && !isFinal ? Self.errorGrace : Self.endGrace)
    }

    mutating func settled(_ state: Run.State, error: String?) {
        rowState = state
        if rowError == nil { rowError = error }
    }

    /// True when the deadline has just passed.
    mutating func settle(now: Timestamp) -> Bool {
        guard let deadline, now >= deadline, !isSettled else { return false }
        isSettled = true
        return true
    }

    /// An abort is final whatever comes behind it; an error is final even where the gateway tries again by itself.
    var state: Run.State {
        if wasAborted { return .aborted }
        if chatFailed { return .failed }
        if chatFinal { return .completed }
        if isSettled, let end = lastEnd { return end.aborted ? .aborted : end.failed ? .failed : .completed }
        return rowState ?? .running
    }

    /// The provider's words: the run's own error names it better than the gateway's comment.
    var error: String? {
        guard state == .failed else { return nil }
        return lifecycleError?.text ?? chatError?.text ?? rowError ?? "The model stopped with an error."
    }

    /// The wait for the terminal chat event, which follows the end of the run at once.
    static let endGrace: Int64 = 3_000
    /// Releases of spring 2026 report the error up to 57 s after the first failure, with tries in between.
    private static let errorGrace: Int64 = 60_000
}
