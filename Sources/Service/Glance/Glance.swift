package import Basics
package import Observability

/// The data for small displays, limited to what one reader may see. Nil and empty members are unknown or nothing.
package struct Glance: Sendable, Equatable {
    package enum State: String, Sendable {
        case working, attention, idle, offline
    }

    /// The most urgent item that needs a person.
    package struct Next: Sendable, Equatable {
        package enum Kind: String, Sendable {
            case approval, question, outbox
        }

        package var kind: Kind
        package var id: String
        package var title: String?
        package var expiresAt: Timestamp?

        package init(_ kind: Kind, id: String, title: String? = nil, expiresAt: Timestamp? = nil) {
            self.kind = kind
            self.id = id
            self.title = title
            self.expiresAt = expiresAt
        }
    }

    /// A session with a run in progress.
    package struct Top: Sendable, Equatable {
        package var session: String
        package var title: String
        package var label: String
        package var since: Timestamp

        package init(session: String, title: String, label: String, since: Timestamp) {
            self.session = session
            self.title = title
            self.label = label
            self.since = since
        }
    }

    /// A window of a subscription.
    package struct Usage: Sendable, Equatable {
        package var id: String
        package var window: String
        /// The used share, in hundredths.
        package var used: Int
        package var resetsAt: Timestamp?

        package init(id: String, window: String, used: Int, resetsAt: Timestamp? = nil) {
            self.id = id
            self.window = window
            self.used = used
            self.resetsAt = resetsAt
        }
    }

    package struct Today: Sendable, Equatable {
        /// Nil if no price is known.
        package var costUSD: Double?
        package var tokens: Int64
        /// False while the gateway is still counting.
        package var isComplete: Bool

        package init(costUSD: Double?, tokens: Int64, isComplete: Bool = true) {
            self.costUSD = costUSD
            self.tokens = tokens
            self.isComplete = isComplete
        }
    }

    package struct Agent: Sendable, Equatable {
        package var name: String?
        package var emoji: String?

        package init(name: String?, emoji: String?) {
            self.name = name
            self.emoji = emoji
        }
    }

    package struct Outbox: Sendable, Equatable {
        package var pending: Int
        package var failed: Int
        /// The number of messages that may or may not have arrived.
        package var unconfirmed: Int
        /// The number of messages that wait because the gateway would not run them.
        package var refused: Int

        package init(pending: Int, failed: Int, unconfirmed: Int, refused: Int = 0) {
            self.pending = pending
            self.failed = failed
            self.unconfirmed = unconfirmed
            self.refused = refused
        }

        /// The number of messages that need a person.
        var troubled: Int { failed + unconfirmed + refused }
    }

    package var link: LinkState
    package var headline: String
    package var active: Int
    package var approvals: Int?
    package var questions: Int?
    package var next: Next?
    /// Sessions that wait for a person first, then the newest.
    package var top: [Top] = []
    package var outbox: Outbox?
    /// The windows, fullest first.
    package var usage: [Usage] = []
    package var today: Today?
    package var agent: Agent?
    package var unread: Int?

    package init(link: LinkState, headline: String, active: Int) {
        self.link = link
        self.headline = headline
        self.active = active
    }

    package var state: State {
        if !link.isConnected { return .offline }
        if (approvals ?? 0) + (questions ?? 0) + (outbox?.troubled ?? 0) > 0 { return .attention }
        return active > 0 ? .working : .idle
    }
}
