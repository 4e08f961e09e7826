import Basics

/// The gateway's clock: a time that the gateway named, and the monotonic time passed since it arrived. So a step of our
/// wall clock, such as the first one of a machine without a battery for its clock, moves no time of the gateway.
struct GatewayClock: Sendable {
    let time: Timestamp
    /// On the monotonic clock, in milliseconds.
    let arrivedAt: Int64

    /// How far the gateway's clock is ahead of our wall clock.
    func skewMs(at now: LinkTime) -> Int64 {
        time.milliseconds + (now.milliseconds - arrivedAt) - now.wall.milliseconds
    }
}
