import Basics

/// Sessions that a slash command of ours is about to reset, with the time of the command.
struct PendingResets {
    private static let lifeMilliseconds: Int64 = 60_000

    private var orderedAt: [SessionKey: Timestamp] = [:]

    /// Records a slash command that is being sent; most commands reset nothing.
    mutating func note(_ command: String, in session: String, now: Timestamp) {
        let word = command.drop(while: \.isWhitespace).prefix { !$0.isWhitespace }.lowercased()
        guard word == "/new" || word == "/reset" else { return }
        // Gateways that do not report resets would leave old sessions here.
        orderedAt = orderedAt.filter { Self.isFresh($0.value, now: now) }
        orderedAt[session] = now
    }

    /// Whether a command of ours ordered the reset that the gateway reports. Each command counts once.
    mutating func take(_ session: String, now: Timestamp) -> Bool {
        orderedAt.removeValue(forKey: session).map { Self.isFresh($0, now: now) } ?? false
    }

    private static func isFresh(_ at: Timestamp, now: Timestamp) -> Bool {
        now.milliseconds - at.milliseconds < lifeMilliseconds
    }
}
