import Basics
import Ledger

/// The gateway's contact with one run: when it last reported something, whether Ladle may have missed events since, and whether the
/// process that worked on the run is gone. Each report begins a new contact.
struct RunContact: Sendable {
    /// The gateway's last report, by our clock.
    var heardAt: Timestamp
    /// Ladle may have missed events, the run's end among them.
    var isUncertain = false
    /// When the gateway's process that worked on the run was found gone, by our clock.
    private(set) var goneAt: Timestamp?
    /// When the next process began, by the gateway's clock. Rows written since then are not the work of the process that is gone.
    private(set) var followedAt: Timestamp?
    /// The message left no trace at the gateway and waits to be sent again.
    var awaitsResend = false
    /// The first time that a page called the run over without showing its end.
    private var shownOverAt: Timestamp?

    init(heardAt now: Timestamp) { heardAt = now }

    var isProcessGone: Bool { goneAt != nil }

    /// Some ends come without an event, so the gateway is asked about a run after a long silence.
    func isSilent(now: Timestamp) -> Bool { now.milliseconds - heardAt.milliseconds >= Self.silence }

    /// Whether the gateway may still go on with the run late: its process was found gone less than an hour ago.
    func mayContinueLate(now: Timestamp) -> Bool {
        goneAt.map { now.milliseconds - $0.milliseconds < GatewayProfile.lateResumeMs } ?? false
    }

    /// Whether the gateway may have lost the stop that ended the run: its next process began soon after the stop, at this time by
    /// our clock, so the old process may have been killed before the stop was on its disk.
    func mayHaveLostItsStop(process: Timestamp) -> Bool {
        !GatewayProcess.began(heardAt, after: process)
            && process.milliseconds - heardAt.milliseconds <= Self.stopMilliseconds
    }

    /// Whether the model may still answer the run that the gateway said it had stopped: the stop is less than a minute old.
    func mayHaveStoppedInVain(now: Timestamp) -> Bool {
        now.milliseconds - heardAt.milliseconds < Self.vainMilliseconds
    }

    /// Whether the gateway may still go on with the run in the usual time: its process was found gone less than a minute ago.
    func mayComeBack(now: Timestamp) -> Bool {
        goneAt.map { now.milliseconds - $0.milliseconds < GatewayProfile.resumeMs } ?? false
    }

    /// A page called the run over without showing its end.
    mutating func shownOver(at now: Timestamp) { shownOverAt = shownOverAt ?? now }

    /// Whether pages have called the run over for so long that its last row cannot be on its way any more.
    func isLongOver(now: Timestamp) -> Bool {
        shownOverAt.map { now.milliseconds - $0.milliseconds >= Self.lastRowMilliseconds } ?? false
    }

    /// Ladle is connected again.
    /// - Parameters:
    ///   - isGone: another process of the gateway answers now.
    ///   - isNewProcess: it was started since the last connection, so it gets its own time to go on with the run.
    ///   - process: its start, by the gateway's clock.
    mutating func reconnected(isGone: Bool, isNewProcess: Bool = false, process: Timestamp? = nil, now: Timestamp) {
        isUncertain = true
        if isGone, followedAt == nil { followedAt = process }
        if isGone, goneAt == nil || isNewProcess { goneAt = now }
    }

    static let silence: Int64 = 16_000
    /// The longest time from a stop to the start of the process that lost it. A gateway that starts later has the stop on its disk,
    /// or others may have used the session since.
    private static let stopMilliseconds: Int64 = 120_000
    /// Gateways that work on behind a stop do so as long as the model takes. Later answers of the session are others'.
    private static let vainMilliseconds: Int64 = 60_000
    /// Gateways write the row of an aborted run up to 3 s after its end.
    private static let lastRowMilliseconds: Int64 = 3_000
}
