/// Notices a link that is silent: gateways tick, so two missed intervals mean that nobody is there.
package struct TickWatchdog: Sendable {
    private let intervalMs: Int64
    private var lastInbound: Int64

    package init(intervalMs: Int64, now: Int64) {
        self.intervalMs = intervalMs
        lastInbound = now
    }

    /// Any frame counts, not only ticks.
    package mutating func heard(now: Int64) {
        lastInbound = now
    }

    package var deadline: Int64 { lastInbound + 2 * intervalMs }
}
