/// The results of finished sends by idempotency key: for some minutes, at most a thousand, only in memory.
struct FinishedKeys {
    enum Outcome {
        case completed, aborted
        case failed(String)
    }

    enum Memory {
        case outcome(Outcome, endedAt: Int64)
        /// The key was used, but its outcome is forgotten.
        case used
    }

    private static let limit = 1_000

    private let lifetimeMs: Int64
    private var entries: [String: (outcome: Outcome, endedAt: Int64)] = [:]
    private var order: [String] = []

    init(lifetimeMs: Int64) { self.lifetimeMs = lifetimeMs }

    mutating func store(_ outcome: Outcome, for key: String, now: Int64) {
        if entries.updateValue((outcome, now), forKey: key) == nil { order.append(key) }
        while order.count > Self.limit { entries[order.removeFirst()] = nil }
    }

    func memory(of key: String, now: Int64) -> Memory? {
        guard let found = entries[key] else { return nil }
        return found.endedAt + lifetimeMs > now ? .outcome(found.outcome, endedAt: found.endedAt) : .used
    }

    mutating func forget(_ key: String) {
        entries[key] = nil
        order.removeAll { $0 == key }
    }
}
