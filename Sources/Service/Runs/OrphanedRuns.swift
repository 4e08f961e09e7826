import Basics

/// Runs of an earlier process that neither an event nor the history has mentioned yet.
struct OrphanedRuns {
    /// A gateway that still works on a run sends an event about it within this time, or its history shows it.
    private static let patience: Int64 = 15_000

    private var ids: Set<String> = []
    private var deadline: Timestamp?

    var isEmpty: Bool { ids.isEmpty }

    mutating func add(_ id: String) {
        ids.insert(id)
    }

    /// The gateway still works on the run, so an event will report its end.
    mutating func heard(_ id: String) {
        if !ids.isEmpty { ids.remove(id) }
    }

    mutating func online(now: Timestamp) {
        deadline = ids.isEmpty ? nil : now.adding(milliseconds: Self.patience)
    }

    /// The runs to give up now; each comes once.
    mutating func due(now: Timestamp) -> Set<String> {
        guard let deadline, now >= deadline else { return [] }
        self.deadline = nil
        defer { ids = [] }
        return ids
    }
}
