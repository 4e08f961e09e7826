package import Basics

/// The state machine behind a `DemoGatewayServer`: a `DemoGatewayModel`, or a test double around one.
package protocol DemoGatewayCore: AnyObject {
    /// The time of the next `advance`, in monotonic nanoseconds.
    var nextDeadline: UInt64? { get }
    func advance(to now: DemoInstant) -> [DemoAction]
    func connected(_ id: DemoConnectionID, peer: DemoPeer, now: DemoInstant) -> [DemoAction]
    func received(_ message: [UInt8], from id: DemoConnectionID, now: DemoInstant) -> [DemoAction]
    /// `close` is the client's close frame, if it sent one.
    func closed(_ id: DemoConnectionID, _ close: DemoClose?, now: DemoInstant) -> [DemoAction]
    func stop(now: DemoInstant) -> [DemoAction]
    /// Whether an upgrade is answered with 503, as by a gateway that is about to end.
    func refusesUpgrade(now: DemoInstant) -> Bool
}

extension DemoGatewayCore {
    package func refusesUpgrade(now: DemoInstant) -> Bool { false }
}

/// Identifies one connection for the life of the process; never reused.
package struct DemoConnectionID: Hashable, Sendable, Comparable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (left: DemoConnectionID, right: DemoConnectionID) -> Bool { left.number < right.number }
}

/// One moment on both clocks: frames carry the wall time, deadlines use the monotonic one.
package struct DemoInstant: Sendable {
    package var wall: Timestamp
    /// CLOCK_MONOTONIC in nanoseconds.
    package var monotonic: UInt64

    package init(wall: Timestamp, monotonic: UInt64) {
        self.wall = wall
        self.monotonic = monotonic
    }
}

/// The client, as far as its upgrade request describes it.
package struct DemoPeer: Sendable {
    package var isLoopback: Bool
    package var host: String
    package var origin: String?
    package var isForwarded: Bool

    package init(isLoopback: Bool = true, host: String = "127.0.0.1", origin: String? = nil, isForwarded: Bool = false)
    {
        self.isLoopback = isLoopback
        self.host = host
        self.origin = origin
        self.isForwarded = isForwarded
    }
}

/// The code and the reason of a close frame.
package struct DemoClose: Sendable, Equatable {
    package var code: UInt16
    package var reason: String

    package init(_ code: UInt16, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// An order to the server.
package enum DemoAction: Sendable, Equatable {
    /// Sends one text message.
    case send(DemoConnectionID, [UInt8])
    /// Sends a close frame and ends the connection.
    case close(DemoConnectionID, DemoClose)
    /// Ends the connection without a close frame.
    case drop(DemoConnectionID)
}
