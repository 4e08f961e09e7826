import Basics

/// Whether the gateway still has the process that got the message. Its keys and its queue exist only in that process.
enum GatewayContinuity: Sendable, Equatable {
    case same, other
    /// That process or the one after it: their times are too close to tell.
    case sameOrNext
    /// The gateway does not report its uptime, or the clocks disagree.
    case unknown
}

/// The age of the gateway's process.
struct GatewayAge: Sendable {
    /// Reported uptimes may be off by the travel time of their frames.
    private static let toleranceMs: Int64 = 2_000

    /// The uptime in the hello.
    var uptimeMs: Int64?
    /// The arrival of the hello, on the monotonic clock.
    var sinceMs: Int64 = 0

    func uptimeMs(at now: Moment) -> Int64? { uptimeMs.map { $0 + (now.monotonicMs - sinceMs) } }

    /// The growth of the uptime since the first dispatch.
    func growthMs(since dispatch: FirstDispatch, at now: Moment) -> Int64? {
        guard let then = dispatch.uptimeMs else { return nil }
        return uptimeMs(at: now).map { $0 - then }
    }

    /// The process is still the same if its uptime grew by the time since the first dispatch. Another process began
    /// after the dispatch, so its uptime lacks at least the uptime of that moment, which is little in a gateway that
    /// had just started.
    func process(since dispatch: FirstDispatch, at now: Moment) -> GatewayContinuity {
        guard let then = dispatch.uptimeMs, let growth = growthMs(since: dispatch, at: now) else { return .unknown }
        if growth < 0 { return .other }
        guard let passed = dispatch.passedMs(now) else { return .unknown }
        if let sent = dispatch.monotonicMs, sent >= sinceMs { return .same }
        if growth < passed.lowerBound - Self.toleranceMs { return .other }
        // Clocks that disagree, or an older gateway that took the place of this one.
        guard growth <= passed.upperBound + Self.toleranceMs, growth >= passed.upperBound - Self.toleranceMs else {
            return .unknown
        }
        return growth >= passed.upperBound - min(Self.toleranceMs, then / 2) ? .same : .sameOrNext
    }
}

/// The first dispatch of an entry under its present key.
struct FirstDispatch: Sendable {
    let wallMs: Int64
    /// The monotonic time, if this process made the dispatch.
    let monotonicMs: Int64?
    /// The gateway's uptime at that time.
    let uptimeMs: Int64?

    init?(of entry: OutboxEntry, monotonicMs: Int64?) {
        guard let at = entry.firstDispatchAt else { return nil }
        wallMs = at.milliseconds
        self.monotonicMs = monotonicMs
        uptimeMs = entry.dispatchUptimeMs
    }

    /// The time since the dispatch, as a range: the wall clock may have been set, and the monotonic clock stops while
    /// the machine sleeps. Nil if unknown.
    func passedMs(_ now: Moment) -> ClosedRange<Int64>? {
        let byWall = now.wallMs - wallMs
        let byMonotonic = monotonicMs.map { now.monotonicMs - $0 } ?? byWall
        guard max(byWall, byMonotonic) >= 0 else { return nil }
        return max(0, min(byWall, byMonotonic))...max(byWall, byMonotonic)
    }
}
