/// The runs under way in each session, each with the time when it was last heard of. A message that the gateway put behind
/// another run counts as a run until it is answered.
struct BusySessions: Sendable {
    private var heardMs: [String: [String: Int64]] = [:]

    mutating func heard(_ run: String, in session: String, atMs: Int64) {
        heardMs[session, default: [:]][run] = atMs
    }

    mutating func ended(_ run: String, in session: String) {
        heardMs[session]?[run] = nil
        if heardMs[session]?.isEmpty == true { heardMs[session] = nil }
    }

    mutating func removeAll() { heardMs.removeAll() }

    /// When the first run of a busy session will have been silent for `patienceMs`; nil for a session without runs. A run
    /// that has been silent for so long is forgotten: an end that never comes must not hold the session for ever.
    mutating func busyUntilMs(_ session: String, nowMs: Int64, patienceMs: Int64) -> Int64? {
        guard let known = heardMs[session] else { return nil }
        let live = known.filter { nowMs - $0.value < patienceMs }
        heardMs[session] = live.isEmpty ? nil : live
        return live.values.min().map { $0 + patienceMs }
    }
}
