import Basics

/// Sessions that a command of ours resets, and when the command went out.
struct PendingResets {
    private static let lifeMilliseconds: Int64 = 60_000

    private var orderedAt: [String: Timestamp] = [:]

    /// A slash command has gone out; most order no reset.
    mutating func note(_ command: String, in session: String, now: Timestamp) {
        let word = command.drop(while: \.isWhitespace).prefix { !$0.isWhitespace }.lowercased()
        guard word == "/new" || word == "/reset" else { return }
        // A gateway that does not report resets would leave its entries here.
        orderedAt = orderedAt.filter { Self.isFresh($0.value, now: now) }
        orderedAt[session] = now
    }

    /// Whether the reset that the gateway reports was ordered here. Each order counts once.
    mutating func take(_ session: String, now: Timestamp) -> Bool {
        orderedAt.removeValue(forKey: session).map { Self.isFresh($0, now: now) } ?? false
    }

    private static func isFresh(_ at: Timestamp, now: Timestamp) -> Bool {
        now.milliseconds - at.milliseconds < lifeMilliseconds
    }
}
