/// Bounds on everything that notifications keep, send and read.
package enum NotificationLimits {
    /// A household has a phone or two, a desktop, home automation.
    package static let sinks = 32
    package static let rules = 64
    /// Names in one list of a rule.
    static let listed = 64
    package static let nameBytes = 64
    static let matchBytes = 200
    /// A secret of another program; longer ones are files by mistake.
    static let tokenBytes = 512
    static let urlBytes = 2_048
    /// Of a title, in characters.
    package static let title = 120
    /// Of a text, in characters: a phone shows less.
    package static let text = 1_000
    /// Of a text, in bytes: a character may have any number of marks.
    package static let textBytes = 4_096
    /// Standard Webhooks asks for small bodies; ours never get larger.
    package static let payloadBytes = 16 << 10
    /// ntfy makes a file of longer messages.
    static let ntfyBytes = 4_096
    /// Larger JSON is refused by ntfy with 413: twice its message, whatever quotes and line breaks make of it.
    static let ntfyBodyBytes = 8_192
    /// Notifications that wait for one sink. The oldest of the least priority goes first.
    package static let queue = 1_000
    /// Tries of one notification end then.
    static let deliveryMs: Int64 = 86_400_000
    /// The old secret of a webhook signs beside the new one for so long.
    static let rotationMs: Int64 = 86_400_000
    /// A failed run may be repeated by its gateway; until then its failure is not told.
    static let failureGraceMs: Int64 = 60_000
    /// The shortest run whose end is worth a notification.
    static let minDurationMs: Int64 = 30_000
    static let cooldownMs: Int64 = 10_000
    package static let longestMs: Int64 = 7 * 86_400_000
    /// The link may be away this long before anybody is told.
    package static let offlineMs: Int64 = 60_000
    /// A gateway that says how long it restarts is waited for, but no longer than this.
    package static let restartMs: Int64 = 600_000
    /// An approval that lives this long is told again when half of its life is over.
    package static let reminderLifeMs: Int64 = 600_000
    package static let longestMuteSeconds: Int64 = 7 * 86_400
}
