import Gateway

/// An ability that not every gateway release has, with the name shown in `link.features` and problems.
///
/// A gateway reports an unknown method as a missing scope, so the profile is asked before the call.
package enum Capability: String, CaseIterable, Sendable {
    case approvals
    /// The permissions that automations have, and how long one holds.
    case approvalsGrants = "approvals.grants"
    /// The decisions of the last thirty days, wherever they were made.
    case approvalsHistory = "approvals.history"
    case approvalsPending = "approvals.pending"
    case artifacts
    case automations
    /// Running a job now, and switching one on or off.
    case automationsRun = "automations.run"
    /// Waiting for the end of such a run.
    case automationsWait = "automations.wait"
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
    /// A message read aloud.
    case speech
    /// The cost of one agent.
    case usageAgents = "usage.agents"
    case usageCost = "usage.cost"
    case usageLimits = "usage.limits"
    case usageSessions = "usage.sessions"
    case wake
    /// Waking a session other than the main one.
    case wakeSession = "wake.session"

    /// The first release known to have it.
    package var firstRelease: String { row.since }

    /// The methods that show it, of which one is enough, and the first release known to have it.
    var row: (methods: [String], since: String) {
        switch self {
        case .approvals: (["exec.approval.resolve", "plugin.approval.resolve", "approval.resolve"], "2026.3")
        case .approvalsGrants: (["exec.approval.grants.list"], "2026.8")
        case .approvalsHistory: (["approval.history"], "2026.7")
        case .approvalsPending: (["exec.approval.list", "plugin.approval.list"], "2026.4")
        case .artifacts: (["artifacts.list"], "2026.6")
        case .automations: (["cron.list"], "2026.3")
        case .automationsRun: (["cron.run"], "2026.3")
        case .automationsWait: (["cron.run"], "2026.9")
        case .eventsSessions: (["sessions.subscribe"], "2026.3.24")
        case .models: (["models.list"], "2026.3")
        case .nodes: (["node.list"], "2026.3")
        case .nodesInvoke: (["node.invoke"], "2026.3")
        case .questions: (["question.list"], "2026.7")
        case .sessionsArchive: (["approval.history", "question.list", "sessions.patchMany"], "2026.7")
        case .sessionsCompact: (["sessions.compact"], "2026.3")
        // Without `sessions.create`, a patch with a new key creates the session.
        case .sessionsCreate: (["sessions.create", "sessions.patch"], "2026.3")
        case .sessionsDelete: (["sessions.delete"], "2026.3")
        case .sessionsPatch: (["sessions.patch"], "2026.3")
        case .sessionsReset: (["sessions.reset"], "2026.3")
        case .speech: (["tts.speak"], "2026.7")
        case .usageAgents: (["usage.cost"], "2026.5")
        case .usageCost: (["usage.cost"], "2026.3")
        case .usageLimits: (["usage.status"], "2026.3")
        case .usageSessions: (["sessions.usage"], "2026.3")
        case .wake: (["wake"], "2026.3")
        case .wakeSession: (["wake"], "2026.5")
        }
    }
}
