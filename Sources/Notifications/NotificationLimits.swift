/// Limits on everything that notifications store, send and read.
package enum NotificationLimits {
    /// A household has a phone or two, a desktop, home automation.
    package static let sinks = 32
    package static let rules = 64
    /// The most names in one list of a rule.
    static let listed = 64
    package static let nameBytes = 64
    static let matchBytes = 200
    /// The longest secret of another program; a longer one is a file given by mistake.
    static let tokenBytes = 512
    static let urlBytes = 2_048
    /// The longest title, in characters.
    package static let title = 120
    /// The longest text, in characters: a phone shows less.
    package static let text = 1_000
    /// The longest text, in bytes: a character may have any number of combining marks.
    package static let textBytes = 4_096
    /// Standard Webhooks asks for small bodies; ours are never larger.
    package static let payloadBytes = 16 << 10
    /// ntfy turns longer messages into a file.
    static let ntfyBytes = 4_096
    /// ntfy refuses larger JSON with 413: twice its message limit, however much escaping adds.
    static let ntfyBodyBytes = 8_192
    /// The most notifications that wait for one sink. The oldest with the lowest priority is dropped first.
    package static let queue = 1_000
    /// The time after which a notification is no longer tried.
    static let deliveryMs: Int64 = 86_400_000
    /// The time for which a webhook's old secret signs beside the new one.
    static let rotationMs: Int64 = 86_400_000
    /// The gateway may repeat a failed run; until this time its failure is not reported.
    static let failureGraceMs: Int64 = 60_000
    /// The shortest run whose end is worth a notification.
    static let minDurationMs: Int64 = 30_000
    static let cooldownMs: Int64 = 10_000
    package static let longestMs: Int64 = 7 * 86_400_000
    /// The link may be down this long before anybody is notified.
    package static let offlineMs: Int64 = 60_000
    /// The longest announced restart of a gateway that is not reported.
    package static let restartMs: Int64 = 600_000
    /// An approval that lives at least this long gets a reminder after half of its life.
    package static let reminderLifeMs: Int64 = 600_000
    package static let longestMuteSeconds: Int64 = 7 * 86_400
}
