/// The changes on their way to disk, and the pauses after failed writes. A change that records a fact is retried until
/// the disk takes it.
struct DispatcherWrites: Sendable {
    /// The pauses after failed writes.
    private static let waitsMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 30_000]

    private var owners: [PersistID: String] = [:]
    private var stalled: [PersistID] = []
    private var failures = 0
    private var lastNumber: Int64 = 0
    /// The monotonic time until which nothing is sent, because it could not be recorded first.
    private var restsUntilMs: Int64?

    var isResting: Bool { restsUntilMs != nil }

    mutating func begin(of id: String) -> PersistID {
        lastNumber += 1
        let write = PersistID(number: lastNumber)
        owners[write] = id
        return write
    }

    /// Ends a write and returns its entry.
    mutating func finish(_ write: PersistID) -> String? { owners.removeValue(forKey: write) }

    mutating func succeeded() { failures = 0 }

    /// The disk failed. Returns the time of the next try if it is later than the known one.
    mutating func failed(atMs now: Int64) -> Int64? {
        let until = now + Self.waitsMs[min(failures, Self.waitsMs.count - 1)]
        failures += 1
        guard (restsUntilMs ?? 0) < until else { return nil }
        restsUntilMs = until
        return until
    }

    /// Keeps a change to retry it later.
    mutating func stall(_ write: PersistID, of id: String) {
        owners[write] = id
        stalled.append(write)
    }

    /// Returns the failed changes with their entries, oldest first, once the pause is over; nil during the pause.
    mutating func resume(atMs now: Int64) -> [(write: PersistID, id: String)]? {
        if let until = restsUntilMs, until > now { return nil }
        restsUntilMs = nil
        defer { stalled.removeAll() }
        return stalled.compactMap { write in owners[write].map { (write, $0) } }
    }
}
