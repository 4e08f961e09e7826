/// Where a command stands. `delivered` and `cancelled` are final; `failed` and `expired` end the work but wait for a
/// person to retry or dismiss them.
package enum OutboxState: String, Sendable, CaseIterable {
    case queued, sending, retrying, accepted, unconfirmed, delivered, failed, cancelled, expired

    package var isTerminal: Bool {
        switch self {
        case .delivered, .failed, .cancelled, .expired: true
        case .queued, .sending, .retrying, .accepted, .unconfirmed: false
        }
    }

    /// Nothing can change it any more but the retention.
    package var isFinal: Bool { self == .delivered || self == .cancelled }

    /// Not dispatched at this moment, so that taking it back is honest.
    package var isWaiting: Bool { self == .queued || self == .retrying }
}
