package import Gateway
import JSONBytes

/// Identifies one of our requests as long as a report about it may come. Never reused within a process.
package struct CallID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }
}

/// The requests that wait for their answers on one connection.
package struct RPCTable: Sendable {
    package enum Resolution: Sendable {
        case outcome(CallID, CallOutcome)
        /// A late answer to a request that was given up; it still reports the outcome.
        case late(CallID, CallOutcome)
        /// An unknown ID, or a second answer to the same request.
        case unknown
    }

    private struct Pending: Sendable {
        var id: CallID
        var deadline: Int64
        var isWritten = false
    }

    /// The most concurrent requests. Above it a request fails at once instead of waiting.
    package static let maxPending = 1_024
    private static let maxGivenUp = 256

    private var pending: [String: Pending] = [:]
    private var givenUp: [String: CallID] = [:]
    private var givenUpOrder: [String] = []

    package init() {}

    package var count: Int { pending.count }

    /// False if the table is full.
    package mutating func add(_ id: CallID, wireId: String, now: Int64, timeoutMs: Int64) -> Bool {
        guard pending.count < Self.maxPending else { return false }
        let timeout = min(max(timeoutMs, 1), 86_400_000)
        pending[wireId] = Pending(id: id, deadline: now + timeout)
        return true
    }

    /// The request was written. If the link is lost from here on, its outcome is unknown.
    package mutating func wrote(wireId: String) {
        pending[wireId]?.isWritten = true
    }

    package func isPending(wireId: String) -> Bool { pending[wireId] != nil }

    package mutating func receive(_ response: GatewayResponse) -> Resolution {
        if let call = pending.removeValue(forKey: response.id) {
            return .outcome(call.id, Self.outcome(response))
        }
        guard let id = givenUp.removeValue(forKey: response.id) else { return .unknown }
        givenUpOrder.removeAll { $0 == response.id }
        return .late(id, Self.outcome(response))
    }

    /// Removes the requests whose time is over.
    package mutating func expire(now: Int64) -> [(CallID, CallOutcome)] {
        let due = pending.filter { $0.value.deadline <= now }.sorted { $0.value.id.number < $1.value.id.number }
        return due.map { wireId, call in
            pending[wireId] = nil
            if call.isWritten { giveUp(wireId, call.id) }
            return (call.id, call.isWritten ? .ambiguous(.timedOut) : .notDispatched(.timedOut))
        }
    }

    /// Fails all requests after the connection was lost. IDs are never replayed, so no late answer can come.
    mutating func failAll(_ reason: CallOutcome.NotDispatched = .offline) -> [(CallID, CallOutcome)] {
        let all = pending.values.sorted { $0.id.number < $1.id.number }
        pending = [:]
        givenUp = [:]
        givenUpOrder = []
        return all.map { ($0.id, $0.isWritten ? .ambiguous(.linkLost) : .notDispatched(reason)) }
    }

    package var nextDeadline: Int64? { pending.values.map(\.deadline).min() }

    private mutating func giveUp(_ wireId: String, _ id: CallID) {
        givenUp[wireId] = id
        givenUpOrder.append(wireId)
        if givenUpOrder.count > Self.maxGivenUp { givenUp[givenUpOrder.removeFirst()] = nil }
    }

    private static func outcome(_ response: GatewayResponse) -> CallOutcome {
        response.error.map { .failed($0, payload: response.payload) } ?? .ok(response.payload)
    }
}
