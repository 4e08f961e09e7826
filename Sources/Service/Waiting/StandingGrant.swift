import Basics
import Gateway
package import JSONBytes

/// A permission that an automation has to run a command without asking. Its texts are safe to show.
package struct StandingGrant: Sendable, JSONWritable {
    package let id: String
    private let grant: ApprovalGrant

    /// In bytes, as gateways limit them.
    private static let longestText = 1_024

    init(_ grant: ApprovalGrant) {
        id = grant.id
        self.grant = grant
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("command", Self.shown(grant.command))
            object.member("cwd", grant.cwd.map(Self.shown))
            object.member("agent", grant.agent.map(Self.shown))
            object.member("automation", grant.job.map(Self.shown))
            object.member("automationName", grant.jobName.map(Self.shown))
            object.member("approval", grant.approval.map(Self.shown))
            object.member("createdAt", grant.createdAt)
            object.member("expiresAt", grant.expiresAt)
            object.member("revokedAt", grant.revokedAt)
            object.member("revokedBy", grant.revokedBy.map(Self.shown))
            object.member("lastUsedAt", grant.lastUsedAt)
            object.member("uses", grant.uses)
        }
    }

    private static func shown(_ text: String) -> String { Printable.escaped(text, limit: longestText).text }
}
