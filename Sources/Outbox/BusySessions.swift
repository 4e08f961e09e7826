/// The runs under way in each session, each with the time when it was last heard of. A message that the gateway put behind
/// another run counts as a run until it is answered.
struct BusySessions: Sendable {
    private var heardMs: [String: [String: Int64]] = [:]
    /// When the last run of a session ended; of the others it is known that none ended after the link was opened.
    private var endedMs: [String: Int64] = [:]
    private var openedMs: Int64 = .min / 2
    /// How many ends are kept before the old ones are cleared.
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

    /// The link was lost: nothing is known of the runs any more.
    mutating func removeAll() {
        heardMs.removeAll()
        endedMs.removeAll()
    }

    mutating func linkOpened(atMs: Int64) { openedMs = atMs }

    /// When the session is free at the latest: when its first run will have been silent for `patienceMs`, or when the pause
    /// after its last run is over. Nil for a session that is free. A run that has been silent for so long is forgotten: an
    /// end that never comes must not hold the session for ever.
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

    /// A run of the session was heard of lately and has not ended.
    func isBusy(_ session: String, nowMs: Int64, patienceMs: Int64) -> Bool {
        heardMs[session]?.values.contains { nowMs - $0 < patienceMs } ?? false
    }
}
