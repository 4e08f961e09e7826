/// An accepted message: it starts a run, or waits for one.
struct DemoMessage {
    let key: String
    /// The session key as the sender wrote it.
    let rawKey: String
    /// Chooses the script.
    let text: String
    let userRow: TranscriptRow
    let owner: DemoConnectionID
    let ownerDevice: String?
    let acceptedAt: Int64
    /// It goes on with a run that an earlier process left.
    var isRecovery = false
}

/// The messages of one session that have no run yet.
struct MessageQueue {
    struct Overdue {
        let message: DemoMessage
        /// The empty `final` is on its way or sent.
        var isAnswered = false
    }

    /// They run under their own keys.
    private(set) var direct: [DemoMessage] = []
    /// They run under ids of the gateway's own.
    private(set) var late: [Overdue] = []
    /// Grows when another message becomes the next one, so that an older timer does nothing.
    private(set) var turn = 0
    /// The direct messages stand in the order of their runs.
    private var isOrdered = false

    var isEmpty: Bool { direct.isEmpty && late.isEmpty }

    mutating func newTurn() -> Int {
        turn += 1
        return turn
    }

    mutating func add(_ message: DemoMessage) { direct.append(message) }

    mutating func addLate(_ message: DemoMessage) { late.append(Overdue(message: message)) }

    mutating func remove(_ key: String) -> DemoMessage? {
        direct.firstIndex { $0.key == key }.map { direct.remove(at: $0) }
    }

    mutating func removeDirect() -> [DemoMessage] {
        defer { direct = [] }
        return direct
    }

    /// The late messages that have had no answer; they count as answered from now on.
    mutating func takeUnanswered() -> [DemoMessage] {
        let found = late.filter { !$0.isAnswered }.map(\.message)
        for place in late.indices { late[place].isAnswered = true }
        return found
    }

    /// Lets messages that came together overtake the first of them.
    mutating func overtake() {
        guard !isOrdered, direct.count > 1 else { return }
        isOrdered = true
        addLate(direct.removeFirst())
        if direct.count > 1 { direct.append(direct.removeFirst()) }
    }

    mutating func takeNext() -> (message: DemoMessage, keepsKey: Bool)? {
        defer { if direct.isEmpty { isOrdered = false } }
        if !direct.isEmpty { return (direct.removeFirst(), true) }
        return late.isEmpty ? nil : (late.removeFirst().message, false)
    }
}
