/// Detects a silent link: gateways send ticks, so two missed intervals mean that the peer is gone.
package struct TickWatchdog: Sendable {
    private let intervalMs: Int64
    private var lastInbound: Int64
    private(set) var isHeld = false

    package init(intervalMs: Int64, now: Int64) {
        self.intervalMs = intervalMs
        lastInbound = now
    }

    /// Any byte counts, not only ticks: a large answer on a slow line can take minutes before its frame ends.
    package mutating func heard(now: Int64) {
        lastInbound = now
    }

    /// While reading is paused, silence says nothing about the peer.
    package mutating func hold(_ isHeld: Bool, now: Int64) {
        if self.isHeld, !isHeld { lastInbound = now }
        self.isHeld = isHeld
    }

    package var deadline: Int64? { isHeld ? nil : lastInbound + 2 * intervalMs }
}
