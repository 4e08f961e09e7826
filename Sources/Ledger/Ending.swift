package import Basics

/// The reports of one run's end, and the table that tells from them how the run ended. Reports may be repeated and may contradict each
/// other. A run is under way until a report shows its end, or shows that it is over; silence shows nothing.
package struct Ending: Sendable {
    /// How a run ended. The database stores these names, so that a later start of Ladle need not guess the end from an error text.
    package enum How: String, Sendable {
        case completed, failed
        /// The gateway or the transcript says that the run was stopped.
        case aborted
        /// The gateway's process was gone. Another run may go on with this one.
        case interrupted
        /// The conversation was reset or deleted while the run was active.
        case reset
        /// Ladle followed too many runs.
        case evicted
        /// The run is over, and nothing says how.
        case unknown

        /// The agent had the message. A run that failed may be one that the gateway refused to begin.
        package var showsDelivery: Bool { [.completed, .aborted, .reset].contains(self) }
    }

    /// Why a run is over although no event reported how it ended.
    package enum Over: Sendable, Equatable {
        /// The gateway says that the run is over, and perhaps how its session's last run ended.
        case reported(How?)
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

    /// A failure that the gateway reported in an event of the chat.
    private struct Failure: Sendable {
        var sequence: Int64
        var text: String?
        /// The gateway may try the run again.
        var mayBeTriedAgain: Bool
    }

    /// One try of the run has ended. The gateway may begin another.
    private struct TryEnd: Sendable {
        var sequence: Int64
        var end: How
    }

    private var isStopped = false
    /// The whole answer was reported before the stop.
    private var isAnsweredBeforeStop = false
    private var isAnsweredAfterStop = false
    private var isFinished = false
    private var failure: Failure?
    /// The gateway said its own words in place of an answer, as "Gateway is draining for restart".
    package private(set) var isTurnedAway = false
    private var lastStart: Int64 = .min
    private var lastTry: TryEnd?
    private var tryError: (sequence: Int64, text: String)?
    /// The end according to the transcript.
    private var shownEnd: (how: How, error: String?)?
    package private(set) var over: Over?
    /// If no other try begins before this time, the last try was the final one, although its terminal chat event did not come.
    private var settlesAt: Timestamp?
    private var isSettled = false
    /// The run had begun before, in a process of the gateway that is gone.
    private var wasCutOff = false

    package init() {}

    // MARK: The table

    struct Row: Sendable {
        let name: String
        let fits: @Sendable (Ending) -> Bool
        let end: @Sendable (Ending) -> How?
    }

    /// The first row that fits decides. A stop counts more than any event after it: only the transcript can refute it.
    static let table: [Row] = [
        Row(
            name: "answered before its stop",
            fits: { $0.isStopped && $0.isAnsweredBeforeStop },
            end: { _ in .completed }
        ),
        Row(name: "answered in spite of its stop", fits: { $0.isAnsweredAfterStop }, end: { _ in .completed }),
        Row(name: "stopped", fits: { $0.isStopped }, end: { _ in .aborted }),
        Row(name: "answered", fits: { $0.isFinished }, end: { _ in .completed }),
        Row(name: "failed for good", fits: { $0.failure?.mayBeTriedAgain == false }, end: { _ in .failed }),
        Row(name: "not tried again", fits: { $0.isSettled }, end: { $0.lastTry?.end ?? .failed }),
        // An error in the transcript may be that of the first of several tries.
        Row(
            name: "shown by its rows",
            fits: { ending in ending.shownEnd.map { $0.how != .failed || ending.over != nil } ?? false },
            end: { $0.shownEnd?.how }
        ),
        Row(name: "over after its last try", fits: { $0.over != nil && $0.hasEndedTry }, end: { $0.lastTry?.end }),
        Row(name: "its session's last end", fits: { $0.sessionEnd != nil }, end: { $0.sessionEnd }),
        Row(name: "over with its conversation", fits: { $0.over == .conversationReset }, end: { _ in .reset }),
        Row(name: "over after a failure", fits: { $0.over != nil && $0.failure != nil }, end: { _ in .failed }),
        Row(name: "over for some reason", fits: { $0.over != nil }, end: { $0.over?.end }),
        Row(name: "under way", fits: { _ in true }, end: { _ in nil }),
    ]

    /// The row that decides. The last one fits everything.
    var row: Row { Self.table.first { $0.fits(self) } ?? Self.table[Self.table.count - 1] }

    /// How the run ended; nil while it is active. Taken from the table once a report, because it is read for every piece of text.
    package private(set) var end: How?

    private mutating func decide() { end = row.end(self) }

    /// The last try has ended, and no other has begun.
    private var hasEndedTry: Bool { lastTry.map { $0.sequence >= lastStart } ?? false }

    private var sessionEnd: How? {
        if case .reported(let end) = over { end } else { nil }
    }

    // MARK: Reading

    /// The gateway said that it stopped the run, and no answer came in spite of that.
    package var wasStopped: Bool { isStopped && !isAnsweredBeforeStop && !isAnsweredAfterStop }
    /// Neither the run's final event nor its rows show its end; it is known only that its last try has ended.
    package var endsByItsLastTry: Bool { isSettled && !isStopped && !isFinished && shownEnd == nil && failure == nil }
    /// The transcript has the whole answer.
    package var isAnswered: Bool { shownEnd?.how == .completed || isAnsweredBeforeStop || isAnsweredAfterStop }
    /// The gateway reported an error and may be in the pause before its next try.
    package var isAwaitingRetry: Bool { failure?.mayBeTriedAgain == true && end == nil }

    /// The run's own end was reported or is in the transcript, so the gateway has the message.
    package var isProven: Bool {
        isStopped || isFinished || shownEnd != nil || failure?.mayBeTriedAgain == false || isSettled
    }

    /// The agent had the message: its run's end is known, its last try was seen to end, or it was lost with its conversation.
    package var showsDelivery: Bool { isProven || over == .conversationReset || (over != nil && hasEndedTry) }

    /// The run in which the gateway goes on with this one.
    package var continuedAs: String? {
        guard end == .interrupted || end == .aborted, case .continued(let run)? = over else { return nil }
        return run
    }

    /// The run ended because the gateway's process was gone, and no other process is known to go on with it.
    package var wasGivenUp: Bool { end == .interrupted && over == .processGone }

    /// An event or a row is about this run's own end; else the gateway only told how the session's last run ended.
    package var isShown: Bool { shownEnd != nil || lastTry != nil || failure != nil }

    /// The agent began the message again after its first run was cut off, so it may have done the same work twice.
    package var isAgain: Bool {
        wasCutOff && (lastStart > .min || isFinished || shownEnd != nil || isAnsweredAfterStop)
    }

    /// The error as the provider reported it.
    package var providersError: String? { tryError?.text ?? failure?.text ?? shownEnd?.error }

    // MARK: Reports

    /// The gateway lost the message, so the reports about its run no longer count.
    /// - Parameter hadBegun: the agent may have worked on it.
    package mutating func lost(hadBegun: Bool) {
        let wasCutOff = wasCutOff || hadBegun
        self = Ending()
        self.wasCutOff = wasCutOff
    }

    /// The agent had begun with the message before, in this run or in one with which this run goes on.
    package mutating func beganBefore() { wasCutOff = true }

    /// The end of a run as it was published; nothing more is known of the run's reports.
    package init(published end: How?, continuedAs: String?, error: String?, isAgain: Bool = false) {
        if isAgain { (wasCutOff, lastStart) = (true, 0) }
        let next = continuedAs.map { Over.continued(as: $0) }
        switch end {
        case .completed: shownEnd = (.completed, nil)
        case .failed: (shownEnd, over) = ((.failed, error), .reported(nil))
        case .aborted: (isStopped, over) = (true, next)
        case .interrupted: over = next ?? .processGone
        case .reset: over = .conversationReset
        case .evicted: over = .evicted
        case .unknown: over = .reported(nil)
        case nil: break
        }
        decide()
    }

    package mutating func stopped() {
        isStopped = true
        decide()
    }

    /// The transcript has the whole answer of a run that the gateway said it had stopped.
    package mutating func answeredAfterStop() {
        isAnsweredAfterStop = true
        decide()
    }

    /// - Parameter withAnswer: the report has the answer. Gateways may report it first, and then the stop that came too late.
    package mutating func finished(withAnswer: Bool = false) {
        isFinished = true
        if withAnswer, !isStopped { isAnsweredBeforeStop = true }
        decide()
    }

    /// - Parameter mayBeTriedAgain: in this release the error may be that of the first try, with more tries to come.
    package mutating func failed(_ text: String?, sequence: Int64, mayBeTriedAgain: Bool, now: Timestamp) {
        if mayBeTriedAgain { settlesAt = max(settlesAt ?? now, now.adding(milliseconds: Self.failureGrace)) }
        let isNewer = failure.map { text != nil && sequence >= $0.sequence } ?? true
        if isNewer { failure = Failure(sequence: sequence, text: text, mayBeTriedAgain: mayBeTriedAgain) }
        failure?.mayBeTriedAgain = mayBeTriedAgain
        decide()
    }

    /// The gateway's own words stand in the place of the answer.
    package mutating func turnedAway(_ text: String, sequence: Int64, now: Timestamp) {
        isTurnedAway = true
        failed(text, sequence: sequence, mayBeTriedAgain: false, now: now)
    }

    package mutating func started(sequence: Int64) {
        lastStart = max(lastStart, sequence)
        if let known = failure, known.mayBeTriedAgain, known.sequence < sequence { (failure, settlesAt) = (nil, nil) }
        if let ended = lastTry, ended.sequence < sequence { settlesAt = nil }
        decide()
    }

    /// After an error the gateway often tries again, so an error counts only after a longer time without another start.
    package mutating func tryEnded(_ end: How, error: String?, sequence: Int64, isLast: Bool, now: Timestamp) {
        if let error, tryError.map({ sequence >= $0.sequence }) ?? true { tryError = (sequence, error) }
        if let known = lastTry, known.sequence > sequence { return }
        lastTry = TryEnd(sequence: sequence, end: end)
        decide()
        guard sequence >= lastStart else { return }
        settlesAt = now.adding(milliseconds: end == .failed && !isLast ? Self.failureGrace : Self.endGrace)
    }

    /// The last row of the run's own turn shows how the run ended.
    package mutating func shown(_ end: How, error: String? = nil) {
        shownEnd = (end, error)
        decide()
    }

    /// The first reason counts. But a gateway that is busy after its start may go on with a run long after Ladle gave the run up.
    package mutating func over(_ reason: Over) {
        let isLate = if case .continued = reason { over == .processGone } else { false }
        if over == nil || isLate { over = reason }
        decide()
    }

    /// - Returns: whether it has just become clear that no other try follows.
    package mutating func settle(now: Timestamp) -> Bool {
        guard let settlesAt, now >= settlesAt, !isSettled else { return false }
        isSettled = true
        decide()
        return true
    }

    /// How long to wait for the terminal chat event, which follows the end of the run at once.
    package static let endGrace: Int64 = 3_000
    /// Releases of spring 2026 report the error up to 57 s after the first failure, with tries in between.
    private static let failureGrace: Int64 = 60_000
}

extension Ending.Over {
    fileprivate var end: Ending.How {
        switch self {
        case .reported(let end): end ?? .unknown
        case .processGone, .continued: .interrupted
        case .conversationReset: .reset
        case .replacedUnseen: .unknown
        case .evicted: .evicted
        }
    }
}
