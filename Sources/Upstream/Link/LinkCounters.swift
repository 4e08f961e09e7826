/// The link's counters since the process started.
package struct LinkCounters: Sendable, Equatable {
    package var attempts: UInt64 = 0
    package var hellos: UInt64 = 0
    /// The number of working links that ended.
    package var drops: UInt64 = 0
    package var framesIn: UInt64 = 0
    package var framesOut: UInt64 = 0
    package var bytesIn: UInt64 = 0
    package var bytesOut: UInt64 = 0
    /// Well-formed frames of an unknown kind.
    package var unknownFrames: UInt64 = 0
    /// Binary messages, and text that is not JSON.
    package var unreadableFrames: UInt64 = 0
    /// Errors in the WebSocket framing.
    package var protocolErrors: UInt64 = 0
    package var lostEvents: UInt64 = 0
    var harmlessGaps: UInt64 = 0
    package var lateAnswers: UInt64 = 0
    package var unknownAnswers: UInt64 = 0
    package var silences: UInt64 = 0
    /// How often reading was paused.
    package var holds: UInt64 = 0

    package init() {}
}
