/// An accepted message, which starts a run or waits for one.
struct DemoMessage {
    let key: String
    /// The session key as the sender wrote it.
    let rawKey: String
    /// The text, which chooses the script.
    let text: String
    let userRow: TranscriptRow
    let owner: DemoConnectionID
    let ownerDevice: String?
    let acceptedAt: Int64
    /// Whether the message resumes a run that an earlier process left.
    var isRecovery = false
}

/// One session's messages without a run.
struct MessageQueue {
    struct Overdue {
        let message: DemoMessage
        /// Whether the empty `final` is being sent or was sent.
        var isAnswered = false
    }

    /// Messages that run under their own keys.
    private(set) var direct: [DemoMessage] = []
    /// Messages that run under ids of the gateway's own.
    private(set) var late: [Overdue] = []
    /// Grows when another message becomes the next one, so that an older timer does nothing.
    private(set) var turn = 0
    /// Whether the direct messages are in the order of their runs.
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

    /// Returns the late messages without an answer, and marks them answered.
    mutating func takeUnanswered() -> [DemoMessage] {
        let found = late.filter { !$0.isAnswered }.map(\.message)
        for place in late.indices { late[place].isAnswered = true }
        return found
    }

    /// Lets messages that arrived together overtake the first of them.
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
