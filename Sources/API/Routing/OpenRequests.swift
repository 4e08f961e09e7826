package import Access
import Basics
import EventLoops
import Outbox
import Server

/// A request that stays open until something happens.
protocol OpenRequest: AnyObject {
    /// The entry the request waits for.
    var entryID: String? { get }
    /// The token whose end also ends the request. Without it the exchange itself is cut when its token ends.
    var tokenID: String? { get }
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop)
    func runEnded(_ id: String, on loop: isolated EventLoop)
    func shutDown(reason: String, on loop: isolated EventLoop)
}

/// For requests that wait neither for an entry nor for a run.
extension OpenRequest {
    var entryID: String? { nil }
    var tokenID: String? { nil }
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {}
    func runEnded(_ id: String, on loop: isolated EventLoop) {}
}

/// Requests that stay open: limits each caller's streams, and passes on changes of entries and runs, the end of tokens
/// and the shutdown.
package final class OpenRequests {
    private var slots: StreamSlots
    private var requests: [ObjectIdentifier: any OpenRequest] = [:]
    private(set) var isShuttingDown = false

    package init(slots: StreamSlots = StreamSlots()) {
        self.slots = slots
    }

    // MARK: How many

    /// False if the caller, or all callers together, have too many. The answer then states the limit.
    func takeSlot(for call: Call) -> Bool {
        let hasSlot = slots.take(call.caller)
        if let limit = slots.headers(for: call.caller) { call.exchange.state(limit) }
        return hasSlot
    }

    func hasSlot(for caller: Caller) -> Bool { slots.hasRoom(for: caller) }

    func releaseSlot(of caller: Caller) {
        slots.release(caller)
    }

    // MARK: Which

    func add(_ request: any OpenRequest) {
        requests[ObjectIdentifier(request)] = request
    }

    func remove(_ request: any OpenRequest) {
        requests[ObjectIdentifier(request)] = nil
    }

    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        for request in requests.values where request.entryID == entry.id { request.entryChanged(entry, on: loop) }
    }

    func runEnded(_ id: String, on loop: isolated EventLoop) {
        for request in requests.values { request.runEnded(id, on: loop) }
    }

    func tokenEnded(_ id: String, reason: String, on loop: isolated EventLoop) {
        for request in requests.values where request.tokenID == id { request.shutDown(reason: reason, on: loop) }
    }

    /// Ends all open requests and refuses further ones.
    func shutDown(on loop: isolated EventLoop) {
        isShuttingDown = true
        for request in requests.values { request.shutDown(reason: "shutting_down", on: loop) }
    }
}
