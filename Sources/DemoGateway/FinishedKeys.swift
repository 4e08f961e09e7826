/// The results of finished sends by idempotency key: kept for five minutes, a thousand at most, in memory only.
struct FinishedKeys {
    struct Outcome {
        var isError: Bool
        var summary: String
    }

    private static let lifetimeMs: Int64 = 300_000
    private static let limit = 1_000

    private var entries: [String: (outcome: Outcome, endsAt: Int64)] = [:]
    private var order: [String] = []

    mutating func store(_ outcome: Outcome, for key: String, now: Int64) {
        if entries.updateValue((outcome, now + Self.lifetimeMs), forKey: key) == nil { order.append(key) }
        while order.count > Self.limit { entries[order.removeFirst()] = nil }
    }

    /// Removes the entry if it is too old.
    mutating func outcome(for key: String, now: Int64) -> Outcome? {
        guard let found = entries[key] else { return nil }
        if found.endsAt > now { return found.outcome }
        entries[key] = nil
        order.removeAll { $0 == key }
        return nil
    }
}
