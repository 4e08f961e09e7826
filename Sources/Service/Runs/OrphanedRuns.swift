import Basics

/// Runs of an earlier process that nobody has accounted for yet.
struct OrphanedRuns {
    /// A gateway that still works on a run tells something about it within this time, or its history does.
    private static let patience: Int64 = 15_000

    private var ids: Set<String> = []
    private var deadline: Timestamp?

    var isEmpty: Bool { ids.isEmpty }

    mutating func add(_ id: String) {
        ids.insert(id)
    }

    /// The gateway lives and so does the run: its end will be told.
    mutating func heard(_ id: String) {
        if !ids.isEmpty { ids.remove(id) }
    }

    mutating func online(now: Timestamp) {
        deadline = ids.isEmpty ? nil : now.adding(milliseconds: Self.patience)
    }

    /// Those to be given up, once.
    mutating func due(now: Timestamp) -> Set<String> {
        guard let deadline, now >= deadline else { return [] }
        self.deadline = nil
        defer { ids = [] }
        return ids
    }
}
