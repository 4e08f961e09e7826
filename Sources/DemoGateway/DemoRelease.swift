/// The recorded gateway that is imitated. Each difference between the releases that has a name stands here.
package enum DemoRelease: String, Sendable, CaseIterable, Comparable {
    /// 2026.3.1, wire protocol 3.
    case march
    /// 2026.6.11, wire protocol 4.
    case june
    /// Late 2026, still wire protocol 4: append-only deltas, hash guards, `FORBIDDEN`.
    case autumn

    package static func < (left: DemoRelease, right: DemoRelease) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .march: 0
        case .june: 1
        case .autumn: 2
        }
    }

    package var protocolVersion: Int { self == .march ? 3 : 4 }

    package var version: String {
        switch self {
        case .march: "2026.3.1"
        case .june: "2026.6.11"
        case .autumn: "2026.10.2"
        }
    }

    /// `hello-ok.server.version`: a March build from source says "dev".
    var serverVersion: String { self == .march ? "dev" : version }

    /// The limit before hello; the March release enforces none.
    var preAuthFrameLimit: Int? { self == .march ? nil : 65_536 }
    var handshakeTimeoutMs: Int { self == .march ? 10_000 : 15_000 }

    /// One frame counter for the whole server, or one per connection.
    var countsFramesPerServer: Bool { self == .march }
    /// The text of a run starts over after a tool call, and the final message holds the last part only.
    var restartsTextAfterTools: Bool { self == .march }
    /// Agent text frames are gathered like chat deltas; unsent text is flushed before tools and at the end.
    var gathersAgentText: Bool { self >= .june }
    /// A session's verbose level decides whether live tool events carry output.
    var hidesToolOutput: Bool { self == .march }
    var hasItemStreams: Bool { self >= .june }
    /// A message sent while a run is active is answered under a run id of the gateway's own.
    var renamesQueuedRuns: Bool { self == .march }
    var keepsScopesWithoutDevice: Bool { self == .march }
    /// A connected device may widen its scopes on loopback without a new approval.
    var widensScopesSilently: Bool { self == .march }
    var pinsPlatform: Bool { self == .march }
    var historyCharacterLimit: Int { self == .march ? 12_000 : 8_000 }
    var needsReadScopeForEvents: Bool { self >= .june }
    var hasSubscriptions: Bool { self >= .june }
    /// Later chat deltas carry the appended text alone.
    var appendsOnly: Bool { self == .autumn }
    var hasHashGuards: Bool { self == .autumn }
    /// A missing scope is `FORBIDDEN` with details; before, `INVALID_REQUEST` with the scope in the message.
    var hasForbiddenCode: Bool { self == .autumn }
    /// Schema checks list every failure, or stop at the first missing field.
    var reportsAllFailures: Bool { self == .march }
}
