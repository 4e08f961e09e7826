/// When to ping, and since when an answer is due.
///
/// A ping is due when nothing was sent for the interval, as the broker demands (MQTT 5 §3.1.2.10). It is also due when
/// nothing was received for the interval: a client that only writes would not notice a dead connection.
struct MQTTKeepAlive: Sendable {
    /// Nil without keep alive.
    private let interval: Int64?
    private let answerTime: Int64
    private var lastSent: Int64
    private(set) var lastReceived: Int64
    /// When the answer to the oldest unanswered ping is due at the latest; nil if no answer is awaited.
    private(set) var answerDeadline: Int64?

    init(seconds: UInt16, answerTime: Int64, now: Int64) {
        interval = seconds == 0 ? nil : Int64(seconds) * 1000
        self.answerTime = answerTime
        lastSent = now
        lastReceived = now
    }

    /// While an answer is awaited, more pings go out only to keep the interval of the broker.
    var pingAt: Int64? {
        guard let interval else { return nil }
        return (answerDeadline == nil ? min(lastSent, lastReceived) : lastSent).later(interval)
    }

    mutating func sent(now: Int64) { lastSent = now }

    /// Any byte is a sign of life: a large packet on a slow line may take longer than an answer has time. The deadline
    /// of the packet limits a peer that sends it byte by byte.
    mutating func received(now: Int64) {
        lastReceived = now
        answerDeadline = nil
    }

    mutating func pinged(now: Int64) {
        lastSent = now
        answerDeadline = answerDeadline ?? now.later(answerTime)
    }
}

extension Int64 {
    /// A time that many milliseconds later. It does not trap at the end of time.
    func later(_ milliseconds: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(milliseconds)
        return overflow ? .max : sum
    }
}
