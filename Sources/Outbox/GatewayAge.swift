import Basics

/// Whether the gateway's process is still the one that a message was sent to. Its keys and its queue live in that process.
enum GatewayProcess: Sendable, Equatable {
    case same, other
    /// The gateway does not tell its age, or the clocks disagree.
    case unknown
}

/// How long the gateway's process has been running.
struct GatewayAge: Sendable {
    /// The reported uptimes may be off by the travel time of their frames; a gateway does not start twice in this time.
    private static let toleranceMs: Int64 = 2_000

    /// From the hello.
    var uptimeMs: Int64?
    /// When the hello came, on the monotonic clock.
    var sinceMs: Int64 = 0

    func uptimeMs(at now: Moment) -> Int64? { uptimeMs.map { $0 + (now.monotonicMs - sinceMs) } }

    /// By how much the uptime has grown since the first dispatch of the entry.
    func growthMs(since entry: OutboxEntry, at now: Moment) -> Int64? {
        guard let then = entry.dispatchUptimeMs else { return nil }
        return uptimeMs(at: now).map { $0 - then }
    }

    /// The process has run on since the first dispatch when its uptime grew by the time that passed. The wall clock may have
    /// been set meanwhile and the monotonic one stands still while the machine sleeps, so that both have to agree.
    /// - Parameter dispatchedAtMs: the monotonic time of the first dispatch, where this process made it.
    func process(since entry: OutboxEntry, dispatchedAtMs: Int64?, at now: Moment) -> GatewayProcess {
        guard let growth = growthMs(since: entry, at: now), let first = entry.firstDispatchAt else { return .unknown }
        if growth < 0 { return .other }
        let byWall = now.wallMs - first.milliseconds
        let byMonotonic = dispatchedAtMs.map { now.monotonicMs - $0 } ?? byWall
        let (shortest, longest) = (min(byWall, byMonotonic), max(byWall, byMonotonic))
        guard longest >= 0 else { return .unknown }
        if growth >= longest - Self.toleranceMs { return .same }
        return growth < shortest - Self.toleranceMs ? .other : .unknown
    }
}
