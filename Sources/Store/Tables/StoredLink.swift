package import Access

/// A one-tap link: it makes one decision about one approval, once.
package struct StoredLink: Sendable, Equatable {
    package let digest: SecretDigest
    package let approval: String
    package let decision: String
    /// The hash of the question that it answers.
    package let question: String?
    /// The name of its maker.
    package let sender: String
    /// The token that made the link, which ends with it. Nil for the owner.
    package let token: String?

    package init(
        digest: SecretDigest,
        approval: String,
        decision: String,
        question: String?,
        sender: String,
        token: String?
    ) {
        self.digest = digest
        self.approval = approval
        self.decision = decision
        self.question = question
        self.sender = sender
        self.token = token
    }
}
