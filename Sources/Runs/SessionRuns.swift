import Basics

/// The runs of one session, by id and in the order in which they became known.
struct SessionRuns: Sendable {
    var active: [String] = []
    var ended: [String] = []
    /// Our own sends that the gateway deferred because a run was active; the next runs of the session answer them.
    var deferred: [String] = []
    var touchedAt: Timestamp
    /// When the session fell silent with deferred sends left.
    var quietSince: Timestamp?
    /// The link was lost while runs were active: only history can tell how they ended.
    var isUncertain = false

    init(now: Timestamp) { touchedAt = now }

    var all: [String] { ended + active }

    mutating func end(_ id: String) {
        guard let place = active.firstIndex(of: id) else { return }
        active.remove(at: place)
        deferred.removeAll { $0 == id }
        ended.append(id)
    }

    mutating func forget(_ id: String) {
        active.removeAll { $0 == id }
        ended.removeAll { $0 == id }
        deferred.removeAll { $0 == id }
    }
}
