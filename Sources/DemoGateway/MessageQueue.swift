/// The wish of a message to a busy session.
enum QueueMode: String, CaseIterable {
    /// Joins the active run.
    case steer
    /// Waits for a turn of its own.
    case followup
    /// Waits for a turn together with others of the same mode.
    case collect
    /// Ends the active run.
    case interrupt
}

/// An accepted message, which starts a run or waits for one.
struct DemoMessage {
    /// A message that is answered by a turn under another id.
    struct Input {
        let key: String
        let owner: DemoConnectionID
    }

    let key: String
    /// The session key as the sender wrote it.
    let rawKey: String
    /// The text, which chooses the script.
    let text: String
    let userRow: DemoRow
    let owner: DemoConnectionID
    let ownerDevice: String?
    let acceptedAt: Int64
    /// Whether the message resumes a run that an earlier process left.
    var isRecovery = false
    /// Only in releases with queue modes, as the next two.
    var mode: QueueMode?
    /// All parameters of its request.
    var request = ""
    /// The messages that its turn answers under an id of the gateway's own; none if it runs under its own key.
    var inputs: [Input] = []

    /// The message that a turn of the gateway's own begins with: these, in one row.
    static func turn(of messages: [DemoMessage]) -> DemoMessage? {
        guard var first = messages.first else { return nil }
        let inputs = messages.map { Input(key: $0.key, owner: $0.owner) }
        if messages.count > 1 {
            let list = messages.enumerated().map { "\($0.offset + 1). \($0.element.text)" }
            var row = first.userRow
            row.kind = .user(key: nil)
            row.blocks = [.text("[Queued messages while agent was busy]\n\n" + list.joined(separator: "\n"))]
            row.senders = messages.flatMap(\.userRow.senders)
            first = DemoMessage(
                key: first.key,
                rawKey: first.rawKey,
                text: messages.map(\.text).joined(separator: "\n"),
                userRow: row,
                owner: first.owner,
                ownerDevice: first.ownerDevice,
                acceptedAt: first.acceptedAt
            )
        }
        first.inputs = inputs
        return first
    }
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

    /// Takes the waiting messages of the next turn: one, or several that are to be collected.
    mutating func takeTurn() -> DemoMessage? {
        guard let first = late.first?.message else { return nil }
        let count = first.mode == .collect ? late.prefix { $0.message.mode == .collect }.count : 1
        let taken = late.prefix(count).map(\.message)
        late.removeFirst(count)
        return DemoMessage.turn(of: taken)
    }

    mutating func removeLate(_ key: String) -> DemoMessage? {
        late.firstIndex { $0.message.key == key }.map { late.remove(at: $0).message }
    }
}
