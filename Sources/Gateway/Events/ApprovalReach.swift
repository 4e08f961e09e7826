package import JSONBytes

/// How far an action reaches that waits for a decision, as the newest gateways say it.
package struct ApprovalReach: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case messageSend = "message-send"
        case payment
        case externalPost = "external-post"
        /// A permission that stands from then on.
        case standingGrant = "standing-grant"
    }

    package var kind: Kind
    package var target: String?
    package var recipientCount: Int64?
    /// At most the first five.
    package var recipients: [String] = []
    package var audience: String?
    package var amount: String?
    package var currency: String?
    package var visibility: String?
    package var automation: String?
    package var command: String?
    package var expiresInDays: Int64?

    package init(_ kind: Kind) { self.kind = kind }

    /// Nil if the kind is not known or a member is not readable: then nobody can be shown how far the action reaches.
    package init?(_ value: JSONValue) {
        guard let kind = value["kind"]?.string.flatMap(Kind.init) else { return nil }
        self.init(kind)
        target = value["target"]?.string
        recipientCount = value["recipientCount"]?.int
        recipients = value["recipients"]?.elements.compactMap(\.string) ?? []
        audience = value["audience"]?.string
        amount = Self.text(value["amount"])
        currency = value["currency"]?.string
        visibility = value["visibility"]?.string
        automation = Self.text(value["automation"])
        command = value["command"]?.string
        expiresInDays = value["expiresInDays"]?.int
        let isListed = recipients.count == value["recipients"]?.count ?? 0
        guard isListed, recipients.count <= GatewayLimits.approvalLines else { return nil }
    }

    private static func text(_ value: JSONValue?) -> String? {
        guard let value, !value.isNull else { return nil }
        return value.string ?? String(decoding: value.raw, as: UTF8.self)
    }

    /// All that it says, for the hash of the question.
    var texts: [String] {
        let named = [target, audience, amount, currency, visibility, automation, command].map { $0 ?? "" }
        let numbers = [recipientCount, expiresInDays].map { $0.map { "\($0)" } ?? "" }
        return [kind.rawValue] + named + numbers + recipients
    }

    /// The same with each text as it may be shown.
    package func shown(_ text: (String) -> String) -> ApprovalReach {
        var copy = self
        copy.target = target.map(text)
        copy.recipients = recipients.map(text)
        copy.audience = audience.map(text)
        copy.amount = amount.map(text)
        copy.currency = currency.map(text)
        copy.visibility = visibility.map(text)
        copy.automation = automation.map(text)
        copy.command = command.map(text)
        return copy
    }
}
