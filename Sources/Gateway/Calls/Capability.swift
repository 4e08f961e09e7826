/// An ability of Ladle that not every release of the gateway has, under the name that `link.features` and problems give it.
///
/// A gateway answers a method that it does not know as if the link lacked a scope. So its hello is looked at before the call.
package enum Capability: String, CaseIterable, Sendable {
    case approvals
    case approvalsPending = "approvals.pending"
    case approvalsHistory = "approvals.history"
    case artifacts
    case automations
    /// Running one now, and switching one on or off.
    case automationsRun = "automations.run"
    case eventsSessions = "events.sessions"
    case models
    case nodes
    case nodesInvoke = "nodes.invoke"
    case questions
    /// Also `pinned` and `unread`, which came with it.
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
    /// Another session than the main one.
    case wakeSession = "wake.session"

    /// One of them is enough.
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
        // It is a member of `sessions.patch`, which no hello tells of; these methods came with the same releases, which mostly tell
        // their version too.
        case .sessionsArchive: ["approval.history", "question.list", "sessions.patchMany"]
        case .sessionsCompact: ["sessions.compact"]
        // Without `sessions.create`, a patch of a key that is new makes the session.
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

    /// The first release known to have it.
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

    /// Whether Ladle has routes for it, so that clients may rely on the name.
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

    /// Methods that gateways answer and do not list.
    private static let unlisted: Set<String> = [
        "sessions.get", "sessions.resolve", "sessions.usage", "sessions.usage.logs", "sessions.usage.timeseries",
    ]

    package func works(with hello: Hello) -> Bool {
        if self == .sessionsArchive, let version = hello.serverVersion, Self.isRelease(version, from: (2026, 7)) {
            return true
        }
        // A member of `wake`, which no hello tells of; it came with the protocol.
        if self == .wakeSession, hello.protocolVersion < 4 { return false }
        return methods.contains { hello.methods.contains($0) || Self.unlisted.contains($0) }
    }

    /// Builds from source call themselves otherwise.
    private static func isRelease(_ version: String, from first: (year: Int, month: Int)) -> Bool {
        let parts = version.split(separator: ".").map { Int($0) }
        guard parts.count >= 2, let year = parts[0], let month = parts[1] else { return false }
        return (year, month) >= (first.year, first.month)
    }

    /// The names of all that work now, sorted.
    package static func names(with hello: Hello?) -> [String] {
        guard let hello else { return [] }
        return allCases.filter { $0.isServed && $0.works(with: hello) }.map(\.rawValue).sorted()
    }
}
