package import Access

/// A one-tap link: it gives one decision about one approval, once.
package struct StoredLink: Sendable, Equatable {
    package let digest: SecretDigest
    package let approval: String
    package let decision: String
    /// The hash of the question that it answers.
    package let question: String?
    /// The name of the one who made it.
    package let sender: String
    /// The token that made it; the link ends with it. Nil for the owner.
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
