import Basics

/// Whether the gateway's process is still the one that a message was sent to. Its keys and its queue live in that process.
enum GatewayContinuity: Sendable, Equatable {
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

    /// By how much the uptime has grown since the first dispatch.
    func growthMs(since dispatch: FirstDispatch, at now: Moment) -> Int64? {
        guard let then = dispatch.uptimeMs else { return nil }
        return uptimeMs(at: now).map { $0 - then }
    }

    /// The process has run on since the first dispatch when its uptime grew by the time that passed.
    func process(since dispatch: FirstDispatch, at now: Moment) -> GatewayContinuity {
        guard let growth = growthMs(since: dispatch, at: now) else { return .unknown }
        if growth < 0 { return .other }
        guard let passed = dispatch.passedMs(now) else { return .unknown }
        if growth >= passed.upperBound - Self.toleranceMs { return .same }
        return growth < passed.lowerBound - Self.toleranceMs ? .other : .unknown
    }
}

/// The first dispatch of an entry under its present key.
struct FirstDispatch: Sendable {
    let wallMs: Int64
    /// Known where this process of ours made it.
    let monotonicMs: Int64?
    /// The gateway's uptime then.
    let uptimeMs: Int64?

    init?(of entry: OutboxEntry, monotonicMs: Int64?) {
        guard let at = entry.firstDispatchAt else { return nil }
        wallMs = at.milliseconds
        self.monotonicMs = monotonicMs
        uptimeMs = entry.dispatchUptimeMs
    }

    /// The time since then, at the least and at the most: the wall clock may have been set, and the monotonic one stands still
    /// while the machine sleeps. Nil where it is not known.
    func passedMs(_ now: Moment) -> ClosedRange<Int64>? {
        let byWall = now.wallMs - wallMs
        let byMonotonic = monotonicMs.map { now.monotonicMs - $0 } ?? byWall
        guard max(byWall, byMonotonic) >= 0 else { return nil }
        return max(0, min(byWall, byMonotonic))...max(byWall, byMonotonic)
    }
}
