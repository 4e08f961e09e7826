package import Basics
package import JSONBytes

/// One attempt, kept as long as its entry.
package struct OutboxAttempt: Sendable, Equatable, JSONWritable {
    package var at: Timestamp
    package var outcome: AttemptClass
    package var key: String
    package var code: String?
    package var detail: String?
    /// The wait before the next attempt that this one caused.
    package var delayMs: Int64?

    package init(
        at: Timestamp,
        outcome: AttemptClass,
        key: String,
        code: String? = nil,
        detail: String? = nil,
        delayMs: Int64? = nil
    ) {
        self.at = at
        self.outcome = outcome
        self.key = key
        self.code = code
        self.detail = detail
        self.delayMs = delayMs
    }

    /// An attempt with the entry's present key that ended in a fault.
    init(
        of entry: OutboxEntry,
        at now: Timestamp,
        _ outcome: AttemptClass,
        _ fault: OutboxFault,
        delayMs: Int64? = nil
    ) {
        self.init(
            at: now,
            outcome: outcome,
            key: entry.upstreamKey,
            code: fault.code,
            detail: fault.detail,
            delayMs: delayMs
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("at", at)
            writer.member("class", outcome.rawValue)
            writer.member("key", key)
            writer.member("code", code)
            writer.member("detail", detail)
            writer.member("delayMs", delayMs)
        }
    }
}
