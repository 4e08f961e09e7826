/// The state of a command. `delivered` and `cancelled` are final; `failed` and `expired` end the work but wait for a
/// person to retry or dismiss them.
package enum OutboxState: String, Sendable, CaseIterable {
    case queued, sending, retrying, accepted, unconfirmed, delivered, failed, cancelled, expired

    package var isTerminal: Bool {
        switch self {
        case .delivered, .failed, .cancelled, .expired: true
        case .queued, .sending, .retrying, .accepted, .unconfirmed: false
        }
    }

    /// Whether nothing but retention can change the entry any more.
    package var isFinal: Bool { self == .delivered || self == .cancelled }

    /// Whether the entry is not dispatched at this moment, so that it can safely be cancelled.
    package var isWaiting: Bool { self == .queued || self == .retrying }
}
