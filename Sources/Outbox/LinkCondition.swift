package import Ledger

/// The link as the outbox sees it.
package enum LinkCondition: Sendable, Equatable {
    case offline(detail: String)
    /// A connection attempt is in progress; entries wait for its end.
    case connecting
    /// The gateway refuses us until something changes: nothing is tried, and no attempt is counted.
    case blocked(reason: String)
    case online(GatewayProfile, GatewayProcess)

    package var profile: GatewayProfile? {
        if case .online(let profile, _) = self { profile } else { nil }
    }
}

/// The clocks at one moment: `wall` for stored and shown times, `monotonic` for waiting.
package struct Moment: Sendable, Equatable {
    package var wallMs: Int64
    package var monotonicMs: Int64
    /// How far the gateway's clock is ahead of `wall`.
    package var gatewaySkewMs: Int64

    package init(wallMs: Int64, monotonicMs: Int64, gatewaySkewMs: Int64 = 0) {
        self.wallMs = wallMs
        self.monotonicMs = monotonicMs
        self.gatewaySkewMs = gatewaySkewMs
    }
}
