/// The messages with QoS 1 that were sent and not acknowledged, by packet identifier.
struct MQTTInFlight: Sendable {
    private var tokens: [UInt16: UInt64] = [:]
    private var last: UInt16 = 0
    /// When the current wait for an acknowledgement began; nil if nothing waits.
    private(set) var waitingSince: Int64?

    var count: Int { tokens.count }

    /// An identifier that neither a message nor one of the `used` packets has. The window leaves many of them free.
    mutating func next(except used: [UInt16]) -> UInt16 {
        repeat {
            last = last == .max ? 1 : last + 1
        } while tokens[last] != nil || used.contains(last)
        return last
    }

    mutating func add(_ identifier: UInt16, token: UInt64, now: Int64) {
        tokens[identifier] = token
        waitingSince = waitingSince ?? now
    }

    mutating func remove(_ identifier: UInt16, now: Int64) -> UInt64? {
        guard let token = tokens.removeValue(forKey: identifier) else { return nil }
        waitingSince = tokens.isEmpty ? nil : now
        return token
    }
}
