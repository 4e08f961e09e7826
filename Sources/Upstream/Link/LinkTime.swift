package import Basics

/// One instant on both clocks: deadlines by the monotonic one, what people read by the other.
package struct LinkTime: Sendable, Equatable {
    package var milliseconds: Int64
    package var wall: Timestamp

    package init(milliseconds: Int64, wall: Timestamp) {
        self.milliseconds = milliseconds
        self.wall = wall
    }
}

/// What the link has counted since the process began.
package struct LinkCounters: Sendable, Equatable {
    package var attempts: UInt64 = 0
    package var hellos: UInt64 = 0
    /// Working links that ended.
    package var drops: UInt64 = 0
    package var framesIn: UInt64 = 0
    package var framesOut: UInt64 = 0
    package var bytesIn: UInt64 = 0
    package var bytesOut: UInt64 = 0
    /// Well-formed, but of a kind we do not know.
    package var unknownFrames: UInt64 = 0
    /// Binary messages and text that is no JSON.
    package var unreadableFrames: UInt64 = 0
    /// Broken WebSocket framing.
    package var protocolErrors: UInt64 = 0
    package var lostEvents: UInt64 = 0
    var harmlessGaps: UInt64 = 0
    package var lateAnswers: UInt64 = 0
    package var unknownAnswers: UInt64 = 0
    package var silences: UInt64 = 0
    /// How often it was not read for a while.
    package var holds: UInt64 = 0

    package init() {}
}
