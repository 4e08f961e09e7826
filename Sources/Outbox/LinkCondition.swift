/// The link as the outbox sees it.
package enum LinkCondition: Sendable, Equatable {
    case offline(detail: String)
    /// An attempt to connect is under way; entries wait for its end.
    case connecting
    /// The gateway refuses us until something changes: nothing is tried, no attempt is used up.
    case blocked(reason: String)
    case online(LinkFacts)

    package var facts: LinkFacts? {
        if case .online(let facts) = self { facts } else { nil }
    }
}

package struct LinkFacts: Sendable, Equatable {
    package var protocolVersion: Int
    /// From the hello snapshot.
    package var uptimeMs: Int64?
    /// How long a session rests after a run before it takes the next message. Releases of spring 2026 that send the rows of
    /// transcripts put a message that comes within milliseconds behind later ones, and end it with an empty answer.
    package var pauseAfterRunMs: Int64

    package init(protocolVersion: Int, uptimeMs: Int64? = nil, pauseAfterRunMs: Int64 = 0) {
        self.protocolVersion = protocolVersion
        self.uptimeMs = uptimeMs
        self.pauseAfterRunMs = pauseAfterRunMs
    }
}

/// Both clocks at one instant: `wall` for times that are stored and shown, `monotonic` for waiting.
package struct Moment: Sendable, Equatable {
    package var wallMs: Int64
    package var monotonicMs: Int64

    package init(wallMs: Int64, monotonicMs: Int64) {
        self.wallMs = wallMs
        self.monotonicMs = monotonicMs
    }
}
