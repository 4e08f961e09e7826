package import Basics
package import Gateway

/// The process in which the gateway runs. What the gateway holds only in memory ends with it: keys, runs, messages that wait.
///
/// The newest gateways name their process. Of others only the start is known, which Ladle computes from the uptime in the hello. A gateway
/// may also restart inside its process (`restart-in-process.v2026.3.1`, `.v2026.6.11`): the uptime goes on, keys are remembered, and
/// messages that waited are lost as a rule. So over a gap an equal start says `either`, also if a stop was announced; one connection is
/// always one process.
package struct GatewayProcess: Sendable, Equatable {
    /// How far two computed starts of one process may lie apart: the gateway sends its uptime some time after it read it.
    private static let toleranceMs: Int64 = 2_000

    package let bootID: String?
    /// The start by the gateway's clock; nil if it did not tell its uptime.
    package let startedAt: Timestamp?
    /// The start by our monotonic clock; nil for a process that an earlier process of Ladle saw.
    private let startedMs: Int64?

    package init(_ hello: Hello, gatewayTime: Timestamp, monotonicMs: Int64) {
        self.init(bootID: hello.bootID, ageMs: hello.uptimeMs, gatewayTime: gatewayTime, monotonicMs: monotonicMs)
    }

    /// - Parameter monotonicMs: nil if that moment was not in this process of Ladle.
    package init(bootID: String? = nil, ageMs: Int64?, gatewayTime: Timestamp, monotonicMs: Int64?) {
        self.bootID = bootID
        startedAt = ageMs.map { gatewayTime.adding(milliseconds: -$0) }
        startedMs = ageMs.flatMap { age in monotonicMs.map { $0 - age } }
    }

    /// The process that an earlier process of Ladle kept.
    package init(bootID: String?, startedAt: Timestamp?) {
        self.bootID = bootID
        self.startedAt = startedAt
        startedMs = nil
    }

    package func ageMs(atMonotonic nowMs: Int64) -> Int64? { startedMs.map { nowMs - $0 } }

    /// How the process of a later connection relates to this one. Either clock may have been set and either machine may have slept,
    /// so the answer is `either` if the two starts agree by at least one clock.
    package func continuity(to later: GatewayProcess) -> Continuity {
        if let bootID, let id = later.bootID { return bootID == id ? .same : .other }
        guard let before = startedAt, let after = later.startedAt,
            abs(after.milliseconds - before.milliseconds) > Self.toleranceMs
        else { return .either }
        guard let beforeMs = startedMs, let afterMs = later.startedMs else { return .other }
        // A later process cannot be older by our monotonic clock, unless our machine slept.
        return afterMs - beforeMs > Self.toleranceMs ? .other : .either
    }

    /// Whether a process that started at `start` is surely younger than what happened at `time` of the same clock.
    package static func began(_ start: Timestamp, after time: Timestamp) -> Bool {
        time.adding(milliseconds: toleranceMs) < start
    }
}
