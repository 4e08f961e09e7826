package import Access
package import EventLoops
package import Runs
import Store

/// One-tap links for notifications: each makes one decision about one approval, once, and expires with the approval.
package final class ApprovalLinks {
    package enum Making {
        case made(Secret)
        /// The approval has ended, or has the most links allowed.
        case refused
    }

    /// A link that was found; it is used up before its decision is sent.
    package struct Found {
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

    /// Makes a link. Its secret is handed out once the hash is durable.
    package func make(
        _ approval: Approval,
        _ decision: Approval.Decision,
        by sender: String,
        token: String?,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Making, any Error>) -> Void
    ) {
        let secret = LinkSecret.make()
        let link = StoredLink(
            digest: SecretDigest(of: secret),
            approval: approval.id,
            decision: decision.rawValue,
            question: approval.commandSHA256,
            sender: sender,
            token: token
        )
        feed.commit(on: loop) { transaction in
            try transaction.approvals.add(link, limit: Self.mostPerApproval)
        } completion: { result in
            completion(result.map { $0 ? .made(secret) : .refused })
        }
    }

    /// Finds a link; nil if there is none or it was used.
    package func find(
        _ secret: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Found?, any Error>) -> Void
    ) {
        guard LinkSecret.isWellFormed(secret) else { return completion(.success(nil)) }
        let digest = SecretDigest(of: Array(secret.utf8))
        feed.read(on: loop) { tables in
            try tables.approvals.link(digest)
        } completion: { result in
            completion(
                result.map { link in
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
            )
        }
    }

    /// Marks the link used, durably before the decision is sent, so that no crash makes it usable again. False if it
    /// was used already.
    package func use(
        _ link: Found,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Bool, any Error>) -> Void
    ) {
        feed.commit(on: loop) { transaction in
            try transaction.approvals.take(link.digest)
        } completion: { result in
            completion(result)
        }
    }
}
