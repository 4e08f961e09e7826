/// The numbers that people look for first. An expired entry needs attention like a failed one.
package struct OutboxCounts: Sendable, Equatable {
    package var pending = 0
    package var unconfirmed = 0
    package var failed = 0

    package init(pending: Int = 0, unconfirmed: Int = 0, failed: Int = 0) {
        self.pending = pending
        self.unconfirmed = unconfirmed
        self.failed = failed
    }

    package mutating func add(_ other: OutboxCounts) {
        pending += other.pending
        unconfirmed += other.unconfirmed
        failed += other.failed
    }

    package mutating func count(_ state: OutboxState, _ entries: Int) {
        switch state {
        case .queued, .sending, .retrying, .accepted: pending += entries
        case .unconfirmed: unconfirmed += entries
        case .failed, .expired: failed += entries
        case .delivered, .cancelled: break
        }
    }
}
