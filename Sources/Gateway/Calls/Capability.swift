/// An ability that not every gateway release has, with the name shown in `link.features` and problems.
///
/// A gateway reports an unknown method as a missing scope, so the hello is checked before the call.
package enum Capability: String, CaseIterable, Sendable {
    case approvals
    case approvalsPending = "approvals.pending"
    case approvalsHistory = "approvals.history"
    case artifacts
    case automations
    /// Running a job now, and switching one on or off.
    case automationsRun = "automations.run"
    case eventsSessions = "events.sessions"
    case models
    case nodes
    case nodesInvoke = "nodes.invoke"
    case questions
    /// Also `pinned` and `unread`, which the same release added.
    case sessionsArchive = "sessions.archive"
    case sessionsCompact = "sessions.compact"
    case sessionsCreate = "sessions.create"
    case sessionsDelete = "sessions.delete"
    case sessionsPatch = "sessions.patch"
    case sessionsReset = "sessions.reset"
    case speech
    case usageCost = "usage.cost"
    case usageLimits = "usage.limits"
    case usageSessions = "usage.sessions"
    case wake
    /// Waking a session other than the main one.
    case wakeSession = "wake.session"

    /// Methods that show the capability; one is enough.
    package var methods: [String] {
        switch self {
        case .approvals: ["exec.approval.resolve", "plugin.approval.resolve", "approval.resolve"]
        case .approvalsPending: ["exec.approval.list", "plugin.approval.list"]
        case .approvalsHistory: ["approval.history"]
        case .artifacts: ["artifacts.list"]
        case .automations: ["cron.list"]
        case .automationsRun: ["cron.run"]
        case .eventsSessions: ["sessions.subscribe"]
        case .models: ["models.list"]
        case .nodes: ["node.list"]
        case .nodesInvoke: ["node.invoke"]
        case .questions: ["question.list"]
        // The capability is a member of `sessions.patch`, which no hello lists; the same releases added these methods.
        // Most hellos also name the version.
        case .sessionsArchive: ["approval.history", "question.list", "sessions.patchMany"]
        case .sessionsCompact: ["sessions.compact"]
        // Without `sessions.create`, a patch with a new key creates the session.
        case .sessionsCreate: ["sessions.create", "sessions.patch"]
        case .sessionsDelete: ["sessions.delete"]
        case .sessionsPatch: ["sessions.patch"]
        case .sessionsReset: ["sessions.reset"]
        case .speech: ["talk.speak"]
        case .usageCost: ["usage.cost"]
        case .usageLimits: ["usage.status"]
        case .usageSessions: ["sessions.usage"]
        case .wake, .wakeSession: ["wake"]
        }
    }

    /// The first release known to have the capability.
    package var firstRelease: String {
        switch self {
        case .approvals, .automations, .automationsRun, .models, .nodes, .nodesInvoke, .sessionsCompact,
            .sessionsCreate,
            .sessionsDelete,
            .sessionsPatch, .sessionsReset, .usageCost, .usageLimits, .usageSessions, .wake:
            "2026.3"
        case .speech: "2026.3.24"
        case .eventsSessions: "2026.3.24"
        case .approvalsPending: "2026.4"
        case .artifacts, .wakeSession: "2026.5"
        case .approvalsHistory, .questions, .sessionsArchive: "2026.7"
        }
    }

    /// Whether Ladle has routes for the capability, so that clients may rely on its name.
    package var isServed: Bool {
        switch self {
        case .approvals, .approvalsPending, .automations, .automationsRun, .eventsSessions, .models, .nodes,
            .nodesInvoke, .questions,
            .sessionsArchive, .sessionsCompact,
            .sessionsCreate, .sessionsDelete, .sessionsPatch, .sessionsReset, .usageCost, .usageLimits, .usageSessions,
            .wake, .wakeSession:
            true
        default: false
        }
    }

    /// Methods that gateways support but do not list.
    private static let unlisted: Set<String> = [
        "sessions.get", "sessions.resolve", "sessions.usage", "sessions.usage.logs", "sessions.usage.timeseries",
    ]

    package func works(with hello: Hello) -> Bool {
        if self == .sessionsArchive, let version = hello.serverVersion, Self.isRelease(version, from: (2026, 7)) {
            return true
        }
        // A member of `wake`, which no hello lists; the protocol version shows it.
        if self == .wakeSession, hello.protocolVersion < 4 { return false }
        return methods.contains { hello.methods.contains($0) || Self.unlisted.contains($0) }
    }

    /// Builds from source have other version names, which give false.
    private static func isRelease(_ version: String, from first: (year: Int, month: Int)) -> Bool {
        let parts = version.split(separator: ".").map { Int($0) }
        guard parts.count >= 2, let year = parts[0], let month = parts[1] else { return false }
        return (year, month) >= (first.year, first.month)
    }

    /// The names of the capabilities available now, sorted.
    package static func names(with hello: Hello?) -> [String] {
        guard let hello else { return [] }
        return allCases.filter { $0.isServed && $0.works(with: hello) }.map(\.rawValue).sorted()
    }
}
