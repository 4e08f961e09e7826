import Basics

/// The runs in progress in each session, each with the time of its last sign of life. A message that the gateway put
/// behind another run counts as a run until it is answered.
struct BusySessions: Sendable {
    private var heardMs: [SessionKey: [String: Int64]] = [:]
    /// Runs that a restart of the gateway interrupted and that it may go on with, each with the time at which that was learned.
    private var interruptedMs: [SessionKey: [String: Int64]] = [:]
    /// The time at which each session's last run ended. A session without one had no run since the link was opened.
    private var endedMs: [SessionKey: Int64] = [:]
    /// Each session's last run that ended since the link was opened.
    private var last: [SessionKey: (run: String, endedMs: Int64)] = [:]
    private var openedMs: Int64 = .min / 2
    /// The most ends kept before old ones are cleared.
    private static let mostEnds = 1_024

    mutating func heard(_ run: String, in session: String, atMs: Int64) {
        Self.forget(run, in: session, &interruptedMs)
        heardMs[session, default: [:]][run] = atMs
    }

    mutating func interrupted(_ run: String, in session: String, atMs: Int64) {
        Self.forget(run, in: session, &heardMs)
        if interruptedMs[session]?[run] == nil { interruptedMs[session, default: [:]][run] = atMs }
    }

    mutating func ended(_ run: String, in session: String, atMs: Int64, pauseMs: Int64) {
        absent(run, in: session)
        if last.count >= Self.mostEnds { last.removeAll() }
        last[session] = (run, atMs)
        guard pauseMs > 0 else { return }
        if endedMs.count >= Self.mostEnds { endedMs = endedMs.filter { atMs - $0.value < pauseMs } }
        endedMs[session] = atMs
    }

    /// The gateway says that this run is at work. If the run ended a while ago, the gateway only has not let go of it yet, and no event
    /// will end that: the session stays busy for the same while again.
    /// - Parameter patienceMs: how long a silent run keeps its session busy.
    mutating func named(_ run: String, in session: String, atMs: Int64, patienceMs: Int64) {
        guard let ended = last[session], ended.run == run else { return heard(run, in: session, atMs: atMs) }
        let lingersMs = min(max(atMs - ended.endedMs, Self.lingersMs.lowerBound), Self.lingersMs.upperBound)
        heard(run, in: session, atMs: atMs + lingersMs - patienceMs)
    }

    private static let lingersMs: ClosedRange<Int64> = 1_000...30_000

    /// The gateway does not have the run's message.
    mutating func absent(_ run: String, in session: String) {
        Self.forget(run, in: session, &heardMs)
        Self.forget(run, in: session, &interruptedMs)
    }

    /// Forgets all runs, since nothing is known about them after the link was lost.
    mutating func removeAll() {
        heardMs.removeAll()
        interruptedMs.removeAll()
        endedMs.removeAll()
        last.removeAll()
    }

    mutating func linkOpened(atMs: Int64) { openedMs = atMs }

    /// The latest time at which the session becomes free: when its first run will have been silent for `patienceMs`, or
    /// the pause after its last run is over. Nil for a free session. A run that was silent for so long is forgotten, so
    /// that a missed end does not block the session for ever.
    /// - Parameter own: the run of the message that is to be sent: a message does not wait for itself.
    mutating func busyUntilMs(
        _ session: String,
        besides own: String,
        nowMs: Int64,
        patienceMs: Int64,
        pauseMs: Int64
    ) -> Int64? {
        if let until = Self.untilMs(session, own, &heardMs, nowMs: nowMs, patienceMs: patienceMs) { return until }
        let ended = endedMs[session] ?? openedMs
        if nowMs - ended < pauseMs { return ended + pauseMs }
        endedMs[session] = nil
        return nil
    }

    /// The time at which the gateway will have had `patienceMs` to go on with the session's first interrupted run. Nil if none is left.
    mutating func interruptedUntilMs(
        _ session: String,
        besides own: String,
        nowMs: Int64,
        patienceMs: Int64
    ) -> Int64? {
        Self.untilMs(session, own, &interruptedMs, nowMs: nowMs, patienceMs: patienceMs)
    }

    /// Whether the gateway may still go on with an interrupted run of the session.
    func isInterrupted(_ session: String, besides own: String?, nowMs: Int64, patienceMs: Int64) -> Bool {
        interruptedMs[session]?.contains { $0.key != own && nowMs - $0.value < patienceMs } ?? false
    }

    private typealias Times = [SessionKey: [String: Int64]]

    private static func untilMs(
        _ session: String,
        _ own: String,
        _ times: inout Times,
        nowMs: Int64,
        patienceMs: Int64
    ) -> Int64? {
        guard let known = times[session] else { return nil }
        let live = known.filter { nowMs - $0.value < patienceMs }
        times[session] = live.isEmpty ? nil : live
        return live.lazy.filter { $0.key != own }.map(\.value).min().map { $0 + patienceMs }
    }

    private static func forget(_ run: String, in session: String, _ times: inout Times) {
        times[session]?[run] = nil
        if times[session]?.isEmpty == true { times[session] = nil }
    }

    /// Whether a run of the session, other than this one, gave a recent sign of life and has not ended.
    func isBusy(_ session: String, besides own: String? = nil, nowMs: Int64, patienceMs: Int64) -> Bool {
        heardMs[session]?.contains { $0.key != own && nowMs - $0.value < patienceMs } ?? false
    }
}
