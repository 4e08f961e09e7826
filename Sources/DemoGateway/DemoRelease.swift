/// The imitated gateway release. Named differences in the form of its frames are listed here; `ReleaseShape` has the
/// differences in behaviour.
package enum DemoRelease: String, Sendable, CaseIterable, Comparable {
    /// 2026.3.1, wire protocol 3.
    case march
    /// 2026.4.26, still wire protocol 3: session events, joined text, transcript ids.
    case april
    /// 2026.6.11, wire protocol 4.
    case june
    /// Late 2026 as its documents have it, still wire protocol 4: append-only deltas, hash guards, `FORBIDDEN`.
    case autumn
    /// 2026.9.7: queue modes, inputs in custody, pauses. Read in its published code, not recorded.
    case september
    /// 2026.10.2: the same, and one end for each message. Read in tests of its source, not recorded.
    case october

    static let newest = DemoRelease.october

    /// The names of releases on a command line.
    static let names = allCases.map(\.rawValue) + ["newest"]

    /// Releases that were not recorded also go by their versions.
    init?(named name: String) {
        let found = Self.allCases.last { $0.rawValue == name || $0 >= .september && $0.version == name }
        guard let found = name == "newest" ? .newest : found else { return nil }
        self = found
    }

    package static func < (left: DemoRelease, right: DemoRelease) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .march: 0
        case .april: 1
        case .june: 2
        case .autumn: 3
        case .september: 4
        case .october: 5
        }
    }

    package var protocolVersion: Int { self < .june ? 3 : 4 }

    package var version: String {
        switch self {
        case .march: "2026.3.1"
        case .april: "2026.4.26"
        case .june: "2026.6.11"
        case .autumn, .october: "2026.10.2"
        case .september: "2026.9.7"
        }
    }

    /// `hello-ok.server.version`: a March build from source reports "dev".
    var serverVersion: String { self == .march ? "dev" : version }

    /// The limit before hello; the March release enforces none.
    var preAuthFrameLimit: Int? { self == .march ? nil : 65_536 }
    var handshakeTimeoutMs: Int { self == .march ? 10_000 : 15_000 }

    /// One frame counter for the whole server, or one per connection.
    var countsFramesPerServer: Bool { self == .march }
    /// A run's text starts over after a tool call, and the final message holds only the last part.
    var restartsTextAfterTools: Bool { self == .march }
    /// Agent text frames are batched like chat deltas.
    var gathersAgentText: Bool { self >= .june }
    /// Unsent text is flushed before tools and at the end.
    var flushesText: Bool { self >= .april }
    /// Chat deltas carry the new text beside the whole text.
    var hasDeltaText: Bool { self >= .june }
    /// A session's verbose level decides whether live tool events carry output.
    var hidesToolOutput: Bool { self < .june }
    var hasItemStreams: Bool { self >= .april }
    var keepsScopesWithoutDevice: Bool { self == .march }
    /// A connected device may widen its scopes on loopback without a new approval.
    var widensScopesSilently: Bool { self == .march }
    var pinsPlatform: Bool { self == .march }
    var historyCharacterLimit: Int { self == .march ? 12_000 : 8_000 }
    var needsReadScopeForEvents: Bool { self >= .june }
    var hasSubscriptions: Bool { self >= .april }
    /// Later chat deltas carry only the appended text.
    var appendsOnly: Bool { self >= .autumn }
    var hasHashGuards: Bool { self >= .autumn }
    /// A missing scope is `FORBIDDEN` with details; earlier releases send `INVALID_REQUEST` with the scope in the
    /// message.
    var hasForbiddenCode: Bool { self >= .autumn }
    /// The tool of a command that needs an approval waits for it; in earlier releases it answers at once.
    var waitsForApprovals: Bool { self >= .june }
    var approvalLifeMs: Int { self == .march ? 120_000 : 1_800_000 }
    /// Approvals are sent only to clients that declare that they can ask somebody.
    var gatesApprovalsByCap: Bool { self >= .autumn }
    /// Ended approvals are remembered, and an operator may take a permission back.
    var remembersApprovals: Bool { self >= .september }
    /// The usage is answered before the providers are, to clients that declare that they can ask again.
    var refreshesUsage: Bool { self >= .september }
    /// Agents can ask people; otherwise their tool answers at once.
    var hasQuestions: Bool { self >= .autumn }
    /// Rows name the run that wrote them, and who sent them; session rows name the active and the last run.
    var namesRuns: Bool { self >= .september }
    /// A failed run is reported once and leaves a row of its own kind; June and autumn report it twice.
    var reportsFailuresOnce: Bool { self >= .september }
    /// Inputs are stored before they are answered, and the transcript tells of them.
    var hasCustody: Bool { self >= .september }
    /// The custody of a single input ends when its row is written; otherwise it stays as consumed.
    var dropsSingleInputs: Bool { self == .september }
    /// `agent.wait` reports a cancelled run as an error; otherwise as a time-out with its end.
    var waitsEndInErrors: Bool { self == .october }
    /// Scopes for sessions alone.
    var hasSessionScopes: Bool { self >= .september }
    /// The scope for events about runs and sessions.
    var eventScope: String { hasSessionScopes ? "operator.sessions.read" : "operator.read" }
    /// The host may pause the gateway.
    var hasPauses: Bool { self >= .september }
    /// `features.capabilities`. Those of 2026.9.5; the list of 2026.9.7 is not established.
    var capabilities: [String]? {
        guard self >= .september else { return nil }
        return [
            "chat-send-routing-contract", "profile-binding-v1", "published-model-catalog", "session-settings-cas-v1",
            "session-unread-ack-contract", "session-goal-start-v1",
        ]
    }
    /// Schema checks list every failure; otherwise they stop at the first missing field.
    var reportsAllFailures: Bool { self == .march }
}
