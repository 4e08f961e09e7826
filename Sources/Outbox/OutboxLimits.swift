/// The limits on waiting entries.
package struct OutboxLimits: Sendable, Equatable {
    /// All entries except delivered and cancelled ones.
    package var entries = 10_000
    package var perSession = 1_000
    /// Texts and attachments of those entries together.
    package var payloadBytes = 64 << 20

    package init() {}
}

/// The limit that a new entry would exceed.
package enum OutboxFullness: String, Sendable, Equatable {
    case entries, session, bytes
}
