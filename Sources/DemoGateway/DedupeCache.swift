/// Results of finished sends by key: five minutes, a thousand entries, in memory only.
struct DedupeCache {
    struct Outcome {
        var runID: String
        var isError: Bool
        var summary: String
    }

    static let lifetimeMs: Int64 = 300_000
    static let limit = 1_000

    private var entries: [String: (outcome: Outcome, endsAt: Int64)] = [:]
    private var order: [String] = []

    mutating func store(_ outcome: Outcome, for key: String, now: Int64) {
        if entries.updateValue((outcome, now + Self.lifetimeMs), forKey: key) == nil { order.append(key) }
        while order.count > Self.limit { entries[order.removeFirst()] = nil }
    }

    /// What is remembered; forgets what is too old on the way.
    mutating func outcome(for key: String, now: Int64) -> Outcome? {
        guard let found = entries[key] else { return nil }
        if found.endsAt > now { return found.outcome }
        entries[key] = nil
        order.removeAll { $0 == key }
        return nil
    }
}
