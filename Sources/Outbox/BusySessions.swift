/// The runs in progress in each session, each with the time of its last sign of life. A message that the gateway put
/// behind another run counts as a run until it is answered.
struct BusySessions: Sendable {
    private var heardMs: [String: [String: Int64]] = [:]
    /// The time at which each session's last run ended. A session without one had no run since the link was opened.
    private var endedMs: [String: Int64] = [:]
    private var openedMs: Int64 = .min / 2
    /// The most ends kept before old ones are cleared.
    private static let mostEnds = 1_024

    mutating func heard(_ run: String, in session: String, atMs: Int64) {
        heardMs[session, default: [:]][run] = atMs
    }

    mutating func ended(_ run: String, in session: String, atMs: Int64, pauseMs: Int64) {
        heardMs[session]?[run] = nil
        if heardMs[session]?.isEmpty == true { heardMs[session] = nil }
        guard pauseMs > 0 else { return }
        if endedMs.count >= Self.mostEnds { endedMs = endedMs.filter { atMs - $0.value < pauseMs } }
        endedMs[session] = atMs
    }

    /// Forgets all runs, since nothing is known about them after the link was lost.
    mutating func removeAll() {
        heardMs.removeAll()
        endedMs.removeAll()
    }

    mutating func linkOpened(atMs: Int64) { openedMs = atMs }

    /// The latest time at which the session becomes free: when its first run will have been silent for `patienceMs`, or
    /// the pause after its last run is over. Nil for a free session. A run that was silent for so long is forgotten, so
    /// that a missed end does not block the session for ever.
    mutating func busyUntilMs(_ session: String, nowMs: Int64, patienceMs: Int64, pauseMs: Int64) -> Int64? {
        if let known = heardMs[session] {
            let live = known.filter { nowMs - $0.value < patienceMs }
            heardMs[session] = live.isEmpty ? nil : live
            if let oldest = live.values.min() { return oldest + patienceMs }
        }
        let ended = endedMs[session] ?? openedMs
        if nowMs - ended < pauseMs { return ended + pauseMs }
        endedMs[session] = nil
        return nil
    }

    /// Whether a run of the session, other than this one, gave a recent sign of life and has not ended.
    func isBusy(_ session: String, besides own: String? = nil, nowMs: Int64, patienceMs: Int64) -> Bool {
        heardMs[session]?.contains { $0.key != own && nowMs - $0.value < patienceMs } ?? false
    }
}
