package import Basics

/// The process in which the gateway runs. What the gateway holds only in memory ends with it: keys, runs, messages that wait.
///
/// The newest gateways name their process. Of others only the start is known, which Ladle computes from the uptime in the hello. A gateway
/// may also restart inside its process (`restart-in-process.v2026.3.1`, `.v2026.6.11`): the uptime goes on, keys are remembered, and
/// messages that waited are lost as a rule. So over a gap an equal start says `either`, also if a stop was announced; one connection is
/// always one process.
package struct GatewayProcess: Sendable, Equatable {
    package let bootID: String?
    /// The start by the gateway's clock; nil if it did not tell its uptime.
    package let startedAt: Timestamp?
    /// The start by our own clock; nil if unknown.
    package let own: OwnTime?
    /// The uptime in the hello.
    private let uptimeMs: Int64?

    /// A start by our monotonic clock, which goes on over a restart of Ladle, but not over one of our machine.
    package struct OwnTime: Sendable, Equatable {
        package let startedMs: Int64
        /// The origin of the clock; nil if unknown.
        package let epoch: String?
        /// The time that the connection took up to the hello; the gateway read its clock and its uptime within it. Nil if unknown.
        package let openingMs: Int64?

        package init(startedMs: Int64, epoch: String?, openingMs: Int64?) {
            (self.startedMs, self.epoch, self.openingMs) = (startedMs, epoch, openingMs)
        }
    }

    /// - Parameter monotonicMs: our clock at the hello; nil if it is not known any more.
    package init(
        bootID: String? = nil,
        ageMs: Int64?,
        gatewayTime: Timestamp,
        monotonicMs: Int64?,
        epoch: String? = nil,
        openingMs: Int64? = nil
    ) {
        self.bootID = bootID
        uptimeMs = ageMs
        startedAt = ageMs.map { gatewayTime.adding(milliseconds: -$0) }
        own = ageMs.flatMap { age in
            monotonicMs.map { OwnTime(startedMs: $0 - age, epoch: epoch, openingMs: openingMs) }
        }
    }

    /// The process that an earlier process of Ladle kept.
    package init(bootID: String?, startedAt: Timestamp?, own: OwnTime?) {
        (self.bootID, self.startedAt, self.own) = (bootID, startedAt, own)
        uptimeMs = nil
    }

    package func ageMs(atMonotonic nowMs: Int64) -> Int64? { own.map { nowMs - $0.startedMs } }

    /// How the process of a later connection relates to this one. Either clock may have been set and either machine may have slept,
    /// so the answer is `either` if the two starts agree by at least one clock.
    package func continuity(to later: GatewayProcess) -> Continuity {
        if let bootID, let id = later.bootID { return bootID == id ? .same : .other }
        guard let before = startedAt, let after = later.startedAt else { return .either }
        let apartMs = abs(after.milliseconds - before.milliseconds)
        guard let own, let others = later.own, own.epoch == others.epoch else {
            return apartMs > Self.mostApartMs ? .other : .either
        }
        let mostMs = mostApartMs(from: later)
        // A later process cannot be older by our monotonic clock, unless our machine slept.
        return apartMs > mostMs && others.startedMs - own.startedMs > mostMs ? .other : .either
    }

    /// How far two computed starts of one process may lie apart.
    private func mostApartMs(from later: GatewayProcess) -> Int64 {
        guard let openings = own?.openingMs, let opening = later.own?.openingMs, let uptimeMs = later.uptimeMs else {
            return Self.mostApartMs
        }
        // Clocks that are kept right over a network run wrong by a two-thousandth at most.
        return min(openings + opening + Self.jitterMs + uptimeMs / 2_000, Self.mostApartMs)
    }

    /// The same where one of the clocks may have been set a little, or where it is not known how old an uptime was that came.
    private static let mostApartMs: Int64 = 2_000
    private static let jitterMs: Int64 = 100

    /// Whether a process that started at `start` is surely younger than what happened at `time` of the same clock.
    package static func began(_ start: Timestamp, after time: Timestamp) -> Bool {
        time.adding(milliseconds: mostApartMs) < start
    }
}
