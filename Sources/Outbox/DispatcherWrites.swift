/// Changes of entries on their way to disk, and the rests that the disk gets after it failed.
///
/// An entry has one change under way at the most. A change that states a fact is handed in again until the disk takes it.
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

    mutating func begin(
        _ change: OutboxChange,
        of slot: inout DispatcherSlot,
        then continuation: DispatcherSlot.Continuation,
        dueAtMs: Int64?
    ) -> DispatcherAction {
        lastNumber += 1
        let write = PersistID(number: lastNumber)
        slot.pending = DispatcherSlot.Pending(id: write, change: change, then: continuation, dueAtMs: dueAtMs)
        owners[write] = slot.entry.id
        return .persist(write, change)
    }

    /// The entry that the write is of, with its change; nil where the entry has gone.
    mutating func finish(
        _ write: PersistID,
        among slots: [String: DispatcherSlot]
    ) -> (id: String, pending: DispatcherSlot.Pending)? {
        guard let id = owners.removeValue(forKey: write), let pending = slots[id]?.pending, pending.id == write else {
            return nil
        }
        return (id, pending)
    }

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

    /// The rest is over: the stalled changes go to the disk again. Nil while it is not.
    mutating func resume(_ slots: [String: DispatcherSlot], atMs now: Int64) -> [DispatcherAction]? {
        if let until = restsUntilMs, until > now { return nil }
        restsUntilMs = nil
        defer { stalled.removeAll() }
        return stalled.compactMap { write in
            guard let pending = owners[write].flatMap({ slots[$0]?.pending }), pending.id == write else { return nil }
            return .persist(write, pending.change)
        }
    }
}
