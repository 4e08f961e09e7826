/// Whose changes are on their way to disk, and the rests that the disk gets after it failed. A change that states a fact is
/// handed in again until the disk takes it.
struct DispatcherWrites: Sendable {
    /// Waits after failed writes.
    private static let waitsMs: [Int64] = [1_000, 2_000, 5_000, 10_000, 30_000]

    private var owners: [PersistID: String] = [:]
    private var stalled: [PersistID] = []
    private var failures = 0
    private var lastNumber: Int64 = 0
    /// Until this monotonic time nothing is sent, because it could not be written before.
    private var restsUntilMs: Int64?

    var isResting: Bool { restsUntilMs != nil }

    mutating func begin(of id: String) -> PersistID {
        lastNumber += 1
        let write = PersistID(number: lastNumber)
        owners[write] = id
        return write
    }

    /// The entry that the write is of.
    mutating func finish(_ write: PersistID) -> String? { owners.removeValue(forKey: write) }

    mutating func succeeded() { failures = 0 }

    /// The disk failed. Gives the time of the next try where that is later than the one known.
    mutating func failed(atMs now: Int64) -> Int64? {
        let until = now + Self.waitsMs[min(failures, Self.waitsMs.count - 1)]
        failures += 1
        guard (restsUntilMs ?? 0) < until else { return nil }
        restsUntilMs = until
        return until
    }

    /// Keeps a change for the time when the disk may work again.
    mutating func stall(_ write: PersistID, of id: String) {
        owners[write] = id
        stalled.append(write)
    }

    /// The rest is over: the changes that the disk did not take, with their entries, oldest first. Nil while it is not.
    mutating func resume(atMs now: Int64) -> [(write: PersistID, id: String)]? {
        if let until = restsUntilMs, until > now { return nil }
        restsUntilMs = nil
        defer { stalled.removeAll() }
        return stalled.compactMap { write in owners[write].map { (write, $0) } }
    }
}
