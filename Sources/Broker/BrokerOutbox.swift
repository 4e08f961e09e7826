package import Basics
import JSONBytes

/// Counts of the outbox.
package struct BrokerOutbox: Sendable, Equatable {
    package let pending: Int
    package let unconfirmed: Int
    package let failed: Int
    /// When the oldest pending entry was accepted.
    package let oldestAt: Timestamp?

    package init(pending: Int, unconfirmed: Int, failed: Int, oldestAt: Timestamp?) {
        self.pending = pending
        self.unconfirmed = unconfirmed
        self.failed = failed
        self.oldestAt = oldestAt
    }

    package var payload: [UInt8] {
        JSONWriter.bytes { object in
            object.member("pending", pending)
            object.member("unconfirmed", unconfirmed)
            object.member("failed", failed)
            object.always("oldestAt", oldestAt)
        }
    }
}
