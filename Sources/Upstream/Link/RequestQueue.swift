import Gateway

/// The requests of one link: their IDs, those that wait to be written, and those that wait for their answers until their
/// deadlines. A read that the gateway refuses only for the moment is asked again within its caller's time.
struct RequestQueue: Sendable {
    enum Resolution: Sendable {
        case outcome(CallID, CallOutcome)
        /// A late answer to a request that was given up; it still reports the outcome.
        case late(CallID, CallOutcome)
        /// The answer to a request of the link itself.
        case own
        /// The gateway refuses for the moment; the request is repeated at `nextDeadline`.
        case repeated
        /// An unknown ID, or a second answer to the same request.
        case unknown
    }

    struct Frame: Sendable {
        let wireId: String
        let bytes: [UInt8]
    }

    private struct Pending: Sendable {
        let id: CallID
        let deadline: Int64
        let `repeat`: Repeat?
        var isWritten = false
    }

    /// A read, kept in case it must be repeated.
    private struct Repeat: Sendable {
        let method: String
        let params: [UInt8]

        func frame(id: String) -> [UInt8] { GatewayRequest.frame(id: id, method: method, params: params) }
    }

    /// The most concurrent requests. Above it a request fails at once instead of waiting.
    static let maxPending = 1_024
    /// The most bytes of requests that wait to be written: two frames of the largest size and small ones beside them.
    private static let maxWaitingBytes = 64 << 20
    private static let longestTimeoutMs: Int64 = 86_400_000
    /// The wait before a repeat, if the gateway names none, and the least one: a gateway that names no wait at all
    /// would be asked without pause.
    private static let repeatMs: Int64 = 1_000
    private static let leastRepeatMs: Int64 = 250
    /// The last requests that were given up, for their late answers.
    private static let maxGivenUp = 256

    private let idPrefix: String
    private var nextNumber: UInt64 = 1
    private var pending: [String: Pending] = [:]
    private var waiting: [Frame] = []
    private var waitingBytes = 0
    private var own: Set<String> = []
    private var repeats: [(at: Int64, request: Pending)] = []
    private var givenUp: [String: CallID] = [:]
    private var givenUpOrder: [String] = []

    /// - Parameter idPrefix: differs from one process to the next, because an ID is never used twice.
    init(idPrefix: String) {
        self.idPrefix = idPrefix
    }

    /// The ID of a frame that is no request of a caller.
    mutating func newId() -> String {
        defer { nextNumber += 1 }
        return "\(idPrefix)-\(nextNumber)"
    }

    /// The ID of a request whose answer the link itself expects and ignores.
    mutating func newOwnId() -> String {
        let id = newId()
        own.insert(id)
        return id
    }

    /// Adds a request to those that wait, or returns why it cannot be sent. `params` is one JSON object.
    mutating func add(
        _ id: CallID,
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        frameLimit: Int,
        now: Int64
    ) -> CallOutcome.NotDispatched? {
        let wireId = newId()
        let bytes = GatewayRequest.frame(id: wireId, method: method, params: params)
        guard bytes.count <= frameLimit else { return .tooLarge(bytes: bytes.count, limit: frameLimit) }
        guard waitingBytes + bytes.count <= Self.maxWaitingBytes, pending.count + repeats.count < Self.maxPending
        else { return .queueFull }
        let timeout = min(max(timeoutMs, 1), Self.longestTimeoutMs)
        let isRead = GatewayRequest.readMethods.contains(method)
        pending[wireId] = Pending(
            id: id,
            deadline: now + timeout,
            repeat: isRead ? Repeat(method: method, params: params) : nil
        )
        wait(Frame(wireId: wireId, bytes: bytes))
        return nil
    }

    private mutating func wait(_ frame: Frame) {
        waiting.append(frame)
        waitingBytes += frame.bytes.count
    }

    /// Takes the next request to write. Requests that were given up while they waited are skipped.
    mutating func next() -> Frame? {
        while !waiting.isEmpty {
            let frame = waiting.removeFirst()
            waitingBytes -= frame.bytes.count
            if pending[frame.wireId] != nil { return frame }
        }
        return nil
    }

    /// The request was written. If the link is lost from here on, its outcome is unknown.
    mutating func wrote(_ frame: Frame) {
        pending[frame.wireId]?.isWritten = true
    }

    mutating func receive(_ response: GatewayResponse, now: Int64) -> Resolution {
        if var call = pending.removeValue(forKey: response.id) {
            if let at = repeatTime(of: call, response.error, now) {
                call.isWritten = false
                repeats.append((at, call))
                return .repeated
            }
            return .outcome(call.id, Self.outcome(response))
        }
        if let id = givenUp.removeValue(forKey: response.id) {
            givenUpOrder.removeAll { $0 == response.id }
            return .late(id, Self.outcome(response))
        }
        return own.remove(response.id) == nil ? .unknown : .own
    }

    /// After a restart a gateway refuses reads for some seconds. Nil if the answer is final.
    private func repeatTime(of call: Pending, _ error: GatewayError?, _ now: Int64) -> Int64? {
        guard let error, call.repeat != nil, error.code == "UNAVAILABLE", error.retryable == true else { return nil }
        let at = now + max(error.retryAfterMs ?? Self.repeatMs, Self.leastRepeatMs)
        return at < call.deadline ? at : nil
    }

    /// Puts the repeats whose time has come among the requests to be written.
    mutating func repeatDue(now: Int64) {
        let due = repeats.filter { $0.at <= now }
        repeats.removeAll { $0.at <= now }
        for (_, call) in due {
            guard let request = call.repeat else { continue }
            let wireId = newId()
            pending[wireId] = Pending(id: call.id, deadline: call.deadline, repeat: request)
            wait(Frame(wireId: wireId, bytes: request.frame(id: wireId)))
        }
    }

    /// Removes the requests whose time is over.
    mutating func expire(now: Int64) -> [(CallID, CallOutcome)] {
        let due = pending.filter { $0.value.deadline <= now }.sorted { $0.value.id.number < $1.value.id.number }
        return due.map { wireId, call in
            pending[wireId] = nil
            if call.isWritten { giveUp(wireId, call.id) }
            return (call.id, call.isWritten ? .ambiguous(.timedOut) : .notDispatched(.timedOut))
        }
    }

    /// Fails all requests after the connection was lost. IDs are never used again, so no late answer can come.
    mutating func failAll(_ reason: CallOutcome.NotDispatched) -> [(CallID, CallOutcome)] {
        let all = (pending.values + repeats.map(\.request)).sorted { $0.id.number < $1.id.number }
        pending = [:]
        repeats = []
        waiting = []
        waitingBytes = 0
        own = []
        givenUp = [:]
        givenUpOrder = []
        return all.map { ($0.id, $0.isWritten ? .ambiguous(.linkLost) : .notDispatched(reason)) }
    }

    var nextDeadline: Int64? { (pending.values.map(\.deadline) + repeats.map(\.at)).min() }

    private mutating func giveUp(_ wireId: String, _ id: CallID) {
        givenUp[wireId] = id
        givenUpOrder.append(wireId)
        if givenUpOrder.count > Self.maxGivenUp { givenUp[givenUpOrder.removeFirst()] = nil }
    }

    private static func outcome(_ response: GatewayResponse) -> CallOutcome {
        response.error.map { .failed($0, payload: response.payload) } ?? .ok(response.payload)
    }
}
