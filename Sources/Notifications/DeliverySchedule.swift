import Basics

/// The times at which a notification is tried again.
enum DeliverySchedule {
    private static let second: Int64 = 1_000
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000
    /// The schedule suggested by Standard Webhooks: a receiver may be down for a day.
    private static let webhook = [
        0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour,
        NotificationLimits.deliveryMs,
    ]
    /// People have no use for an old message.
    private static let person = [0, 10 * second, minute, 5 * minute, 30 * minute, 2 * hour]

    /// The time of the next try; nil after the last one.
    /// - Parameters:
    ///   - attempts: the number made so far.
    ///   - start: the time of the first.
    ///   - seed: shifts the time by up to a fifth of the wait, so that many tries do not coincide.
    static func next(
        _ kind: NotificationSink.Kind,
        after attempts: Int,
        from start: Timestamp,
        now: Timestamp,
        seed: String
    ) -> Timestamp? {
        let offsets = kind == .webhook ? webhook : person
        guard attempts < offsets.count else { return nil }
        let wait = offsets[attempts] - offsets[attempts - 1]
        let part = Int64(FNV1a.hash(Array("\(seed)/\(attempts)".utf8)) % 401) - 200
        let end = start.adding(milliseconds: NotificationLimits.deliveryMs)
        let next = min(start.adding(milliseconds: offsets[attempts] + wait * part / 1000), end)
        return now > end ? nil : max(next, now.adding(milliseconds: second))
    }
}
