/// A session's inputs in custody: stored before they are answered, and kept over restarts until their row is in the
/// transcript. Nothing in it runs by itself.
struct InputCustody {
    enum State: Equatable {
        /// Waits in this process, or is being prepared there.
        case queued
        case cancelled
        /// The process that took it ended.
        case interrupted
        /// The row with this id took it.
        case consumed(by: String)
    }

    struct Input {
        /// Counts the session's inputs, for pages.
        let number: Int
        let key: String
        /// The conversation it was sent to; after a reset it is not shown.
        let sessionID: String
        let row: DemoRow
        /// All parameters of its request. A repeat has to have the same.
        let request: String
        let acceptedAt: Int64
        var state = State.queued
    }

    /// The most inputs kept, so that a demo that runs for weeks does not grow.
    private static let limit = 1_000
    private static let pageLength = 20

    private var inputs: [Input] = []
    private var lastNumber = 0

    subscript(key: String) -> Input? { inputs.first { $0.key == key } }

    /// Stores an input, or takes back the one of the same key that an ended process left.
    mutating func store(_ message: DemoMessage, sessionID: String) {
        if let place = inputs.firstIndex(where: { $0.key == message.key && $0.sessionID == sessionID }) {
            inputs[place].state = .queued
            return
        }
        discard(message.key)
        lastNumber += 1
        inputs.append(
            Input(
                number: lastNumber,
                key: message.key,
                sessionID: sessionID,
                row: message.userRow,
                request: message.request,
                acceptedAt: message.acceptedAt
            )
        )
        if inputs.count > Self.limit { inputs.removeFirst() }
    }

    mutating func consume(_ keys: [String], by row: String, dropsSingle: Bool) {
        if dropsSingle, keys.count == 1 { return discard(keys[0]) }
        for place in inputs.indices where keys.contains(inputs[place].key) {
            inputs[place].state = .consumed(by: row)
        }
    }

    mutating func cancel(_ key: String) {
        for place in inputs.indices where inputs[place].key == key { inputs[place].state = .cancelled }
    }

    mutating func discard(_ key: String) { inputs.removeAll { $0.key == key } }

    /// The process ends.
    mutating func interrupt() {
        for place in inputs.indices where inputs[place].state == .queued { inputs[place].state = .interrupted }
    }

    // MARK: - In `chat.history`

    /// `inputReceipts`; an input without custody has none.
    func receipts(of keys: [String], in session: DemoSession) -> [WireValue] {
        keys.compactMap { key in
            guard let input = self[key], input.sessionID == session.sessionID else { return nil }
            if case .consumed(let row) = input.state {
                return ["runId": key, "state": "consumed", "consumedByEventId": row]
            }
            return [
                "runId": key, "state": "pending", "queued": isWaiting(input, in: session) ? true : nil,
                "cancelled": input.state == .cancelled ? true : nil,
            ]
        }
    }

    /// `inputConsumptions`: the consumed inputs of the shown rows.
    func consumptions(by rows: Set<String>) -> [WireValue] {
        inputs.compactMap { input in
            guard case .consumed(let row) = input.state, rows.contains(row) else { return nil }
            return ["runId": input.key, "consumedByEventId": row]
        }
    }

    /// `pendingInputs`: a page of at most twenty, the newest one unless a number says otherwise.
    func page(before number: Int64?, in session: DemoSession, _ style: TranscriptStyle) -> WireValue {
        let pending = inputs.filter { input in
            if case .consumed = input.state { return false }
            return input.sessionID == session.sessionID
        }
        let found = pending.filter { number == nil || Int64($0.number) < number ?? 0 }
        let shown = found.suffix(Self.pageLength)
        return [
            "items": shown.map { item(of: $0, in: session, style) }, "total": pending.count,
            "queuedCount": pending.count { isWaiting($0, in: session) },
            "nextBefore": shown.count < found.count ? shown.first?.number : nil,
        ]
    }

    private func item(of input: Input, in session: DemoSession, _ style: TranscriptStyle) -> WireValue {
        let state =
            switch input.state {
            case .queued: "queued"
            case .cancelled: "cancelled"
            case .interrupted, .consumed: "interrupted"
            }
        return [
            "id": "pi-\(input.number)", "runId": input.key, "message": style.bare(input.row),
            "acceptedAt": input.acceptedAt, "state": state, "queued": isWaiting(input, in: session) ? true : nil,
        ]
    }

    /// Whether the input has an entry in the queue that can still be cancelled.
    private func isWaiting(_ input: Input, in session: DemoSession) -> Bool {
        session.queue.late.contains { $0.message.key == input.key }
    }
}
