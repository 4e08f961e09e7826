package import Access
package import EventLoops
package import Runs
import Store

/// One-tap links, for notifications: each gives one decision about one approval, once, and dies with the approval.
package final class ApprovalLinks {
    package enum Making {
        case made(Secret)
        /// The approval has ended meanwhile, or has as many links as it may have.
        case refused
    }

    /// A link as it was found; it is used up before its decision is sent.
    package struct Found {
        package let approval: String
        package let decision: Approval.Decision
        /// The hash of the question that it was made for.
        package let question: String?
        package let sender: String
        package let token: String?
        fileprivate let digest: SecretDigest
    }

    /// Several clients may notify, each with a link for every decision.
    private static let mostPerApproval = 32

    private let feed: EventFeed

    init(feed: EventFeed) {
        self.feed = feed
    }

    /// The secret is given away once its hash is durable.
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

    /// Nil where there is none, or not any more.
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

    /// Durable before the decision is sent, so that no crash gives the link back. False where it was used meanwhile.
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
