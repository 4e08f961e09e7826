import Basics

/// Sessions that a command of ours begins anew, and when it went out.
struct PendingResets {
    private static let lifeMilliseconds: Int64 = 60_000

    private var orderedAt: [String: Timestamp] = [:]

    /// A slash command has gone out; most order no reset.
    mutating func note(_ command: String, in session: String, now: Timestamp) {
        let word = command.drop(while: \.isWhitespace).prefix { !$0.isWhitespace }.lowercased()
        guard word == "/new" || word == "/reset" else { return }
        // Gateways that do not tell of it leave theirs here.
        orderedAt = orderedAt.filter { Self.isFresh($0.value, now: now) }
        orderedAt[session] = now
    }

    /// Whether the reset that a gateway tells of was ordered here. Each is told of once.
    mutating func take(_ session: String, now: Timestamp) -> Bool {
        orderedAt.removeValue(forKey: session).map { Self.isFresh($0, now: now) } ?? false
    }

    private static func isFresh(_ at: Timestamp, now: Timestamp) -> Bool {
        now.milliseconds - at.milliseconds < lifeMilliseconds
    }
}
