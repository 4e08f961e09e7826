/// The link as the outbox sees it.
package enum LinkCondition: Sendable, Equatable {
    case offline(detail: String)
    /// A connection attempt is in progress; entries wait for its end.
    case connecting
    /// The gateway refuses us until something changes: nothing is tried, and no attempt is counted.
    case blocked(reason: String)
    case online(LinkFacts)

    package var facts: LinkFacts? {
        if case .online(let facts) = self { facts } else { nil }
    }
}

package struct LinkFacts: Sendable, Equatable {
    package var protocolVersion: Int
    /// The uptime in the hello.
    package var uptimeMs: Int64?
    /// The pause after a session's run, before its next message. Releases of spring 2026 that send transcript rows put
    /// a message that arrives within milliseconds behind later ones, and answer it with an empty text.
    package var pauseAfterRunMs: Int64
    /// The gateway may acknowledge a message and then refuse to run it (2026.6.11).
    package var refusesLate: Bool
    /// After its start the gateway may go on for this long with a run that a restart interrupted; 0 if it never does. A message
    /// that comes first takes the interrupted message into its own prompt, which then gets no answer (2026.6.11).
    package var resumesRunsMs: Int64

    package init(
        protocolVersion: Int,
        uptimeMs: Int64? = nil,
        pauseAfterRunMs: Int64 = 0,
        refusesLate: Bool = false,
        resumesRunsMs: Int64 = 0
    ) {
        self.protocolVersion = protocolVersion
        self.uptimeMs = uptimeMs
        self.pauseAfterRunMs = pauseAfterRunMs
        self.refusesLate = refusesLate
        self.resumesRunsMs = resumesRunsMs
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
