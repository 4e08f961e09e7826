/// A time in which the gateway takes nothing: it starts, suspends, drains or is busy. Messages wait, and no attempt is counted.
struct GatewayPause: Sendable {
    /// The pause before the first, second, … message that is sent to see whether the gateway takes it. A gateway that asks for a longer
    /// one gets it.
    private static let waitsMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 30_000]
    private static let longestMs: Int64 = 60_000

    /// The gateway's words about the pause.
    private(set) var detail: String?
    /// Monotonic time at which a message is sent again.
    private var untilMs: Int64?
    private var tries = 0
    /// An acknowledgement does not show that the gateway takes messages again.
    private(set) var endsWithLink = false

    var isUnderWay: Bool { untilMs != nil }

    /// - Returns: when to try again.
    mutating func begin(
        _ detail: String,
        forMs milliseconds: Int64?,
        nowMs: Int64,
        endsWithLink: Bool = false
    ) -> Int64 {
        self.endsWithLink = self.endsWithLink || endsWithLink
        let milliseconds = endsWithLink ? Self.longestMs : milliseconds
        let wait = max(Self.waitsMs[min(tries, Self.waitsMs.count - 1)], min(milliseconds ?? 0, Self.longestMs))
        let until = max(untilMs ?? 0, nowMs + wait)
        tries += isUnderWay ? 0 : 1
        (self.detail, untilMs) = (detail, until)
        return until
    }

    mutating func tryAgain(nowMs: Int64) {
        if let until = untilMs, until <= nowMs { untilMs = nil }
    }

    mutating func end() { self = GatewayPause() }
}
