package import Access
package import EventLoops
package import Runs
import Store

/// One-tap links for notifications: each makes one decision about one approval, once, and expires with the approval.
package final class ApprovalLinks {
    /// A link that was found; it is used up before its decision is sent.
    package struct Found: Sendable {
        package let approval: String
        package let decision: Approval.Decision
        /// The hash of the question that the link was made for.
        package let question: String?
        package let sender: String
        package let token: String?
        fileprivate let digest: SecretDigest
    }

    /// Room for several notifying clients, each with a link per decision.
    private static let mostPerApproval = 32

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }
    /// Makes a link. Its secret is handed out once the hash is durable; nil if the approval has ended, or has the most
    /// links allowed.
    package func make(
        _ approval: Approval,
        _ decision: Approval.Decision,
        by sender: String,
        token: String?,
        on loop: isolated EventLoop
    ) async throws -> Secret? {
        let secret = LinkSecret.make()
        let link = StoredLink(
            digest: SecretDigest(of: secret),
            approval: approval.id,
            decision: decision.rawValue,
            question: approval.commandSHA256,
            sender: sender,
            token: token
        )
        let isMade = try await feed.commit(on: loop) { try $0.approvals.add(link, limit: Self.mostPerApproval) }
        return isMade ? secret : nil
    }

    /// Finds a link; nil if there is none or it was used.
    package func find(_ secret: String, on loop: isolated EventLoop) async throws -> Found? {
        guard LinkSecret.isWellFormed(secret) else { return nil }
        let digest = SecretDigest(of: Array(secret.utf8))
        let link = try await feed.read(on: loop) { try $0.approvals.link(digest) }
        guard let link, let decision = Approval.Decision(rawValue: link.decision) else { return nil }
        return Found(
            approval: link.approval,
            decision: decision,
            question: link.question,
            sender: link.sender,
            token: link.token,
            digest: link.digest
        )
    }

    /// Marks the link used, durably before the decision is sent, so that no crash makes it usable again. False if it
    /// was used already.
    package func use(_ link: Found, on loop: isolated EventLoop) async throws -> Bool {
        try await feed.commit(on: loop) { try $0.approvals.take(link.digest) }
    }
}
