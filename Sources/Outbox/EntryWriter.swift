/// Writes the changes of one entry to disk, one at a time, and keeps the inputs that come meanwhile.
struct EntryWriter: Sendable {
    enum Continuation: Equatable {
        case nothing
        case dispatch
        case answer(CommandToken)
    }

    struct Change {
        let id: PersistID
        let change: OutboxChange
        let then: Continuation
        /// Monotonic time of the next attempt, if the change sets one.
        var dueAtMs: Int64?
    }

    /// The change on its way to disk.
    private(set) var pending: Change?
    private var deferred: [DeliveryInput] = []

    var isIdle: Bool { pending == nil }

    /// Does nothing during another write.
    mutating func write(_ change: OutboxChange, then: Continuation = .nothing, _ context: inout DispatcherContext) {
        guard isIdle else { return }
        let id = context.writes.begin(of: change.entry.id)
        pending = Change(id: id, change: change, then: then, dueAtMs: context.dueMs(change.entry))
        context.order(.persist(id, change))
    }

    /// Ends a write. Nil if it is another one.
    mutating func end(_ write: PersistID) -> Change? {
        guard let pending, pending.id == write else { return nil }
        self.pending = nil
        return pending
    }

    /// Puts back a failed change, whose outcome is a fact: it is written again until the disk takes it.
    mutating func stall(_ failed: Change, _ context: inout DispatcherContext) {
        pending = failed
        context.writes.stall(failed.id, of: failed.change.entry.id)
    }

    func writeAgain(_ write: PersistID, _ context: inout DispatcherContext) {
        guard let pending, pending.id == write else { return }
        context.order(.persist(write, pending.change))
    }

    mutating func setDue(_ atMs: Int64?) { pending?.dueAtMs = atMs }

    // MARK: Inputs that wait

    mutating func `defer`(_ input: DeliveryInput) {
        // Every event of a run brings the same proof; one of a kind is enough.
        if !deferred.contains(input) { deferred.append(input) }
    }

    mutating func takeDeferred() -> [DeliveryInput] {
        defer { deferred.removeAll() }
        return deferred
    }

    /// Takes the waiting commands; other inputs go on waiting.
    mutating func takeCommands() -> [CommandToken] {
        defer { deferred.removeAll { $0.token != nil } }
        return deferred.compactMap(\.token)
    }

    mutating func keepOnlyCommands() { deferred.removeAll { $0.token == nil } }
}
