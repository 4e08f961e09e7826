package import Basics
import EventLoops
import JSONBytes
import Ledger
import Store

/// A list of the gateway, as its readers get it.
package struct ShownList<Row: Sendable>: Sendable {
    package let rows: [Row]
    /// False for an earlier answer, because the gateway is away or takes long.
    package let isLive: Bool
    /// The time of the gateway's answer; nil if it never gave one, or if the list is live.
    package let asOf: Timestamp?

    init(live rows: [Row]) {
        self.rows = rows
        isLive = true
        asOf = nil
    }

    init(kept rows: [Row], asOf: Timestamp?) {
        self.rows = rows
        isLive = false
        self.asOf = asOf
    }
}

/// A row of a kept list: its form in the database, where it waits for times without the gateway.
protocol KeptRow: Sendable {
    func writeKept(to writer: inout JSONWriter)
    /// Nil for a row that cannot be read; the list leaves it out.
    init?(kept row: JSONValue)
}

/// One of the gateway's lists: its age, and its readers, who share one request. The service that owns the list sends the request
/// and has the rows. The last answer is stored in the database for times without the gateway, even across a restart.
final class KeptList<Row: KeptRow> {
    typealias Completion = (Result<ShownList<Row>, ServiceFault>) -> Void

    private let name: String
    private let feed: EventFeed
    /// The list as last written.
    private var bytes: [UInt8] = []
    /// On the loop's clock; nil if the next read must ask.
    private var readAt: UInt64?
    private var waiters: [Completion] = []
    /// The number of requests and links; answers to earlier ones are ignored.
    private var asked = 0
    private(set) var isAsking = false
    /// The requested list may lack a change that came after the request.
    var isOutdated = false
    /// The gateway answered at least once.
    private(set) var wasListed = false
    /// The link was lost since the last answer, and events with it.
    private var hasGap = false

    init(_ name: String, feed: EventFeed) {
        self.name = name
        self.feed = feed
    }

    // MARK: Requests

    /// Makes the next read ask.
    func expire() { readAt = nil }

    /// Gives up the request of an earlier link.
    /// - Returns: whether readers wait, so that the caller has to ask again.
    func restart() -> Bool {
        readAt = nil
        isAsking = false
        asked += 1
        hasGap = wasListed
        return !waiters.isEmpty
    }

    func isFresh(forMs life: UInt64, on loop: isolated EventLoop) -> Bool {
        readAt.map { loop.now < $0 + life * 1_000_000 } ?? false
    }

    /// Gives a reader the rows while they are fresh, otherwise the answer to the current request or to the next one; without the
    /// gateway, the stored list.
    /// - Parameters:
    ///   - rows: the owner's rows.
    ///   - life: the milliseconds for which they are fresh.
    ///   - refresh: whether the reader wants the gateway's answer, however fresh the rows are and however long it takes.
    ///   - mayBeKept: the reader takes the stored list if the gateway takes long.
    ///   - ask: sends a request.
    func read(
        _ rows: @autoclosure () -> [Row],
        forMs life: UInt64,
        refresh: Bool,
        mayBeKept: Bool = true,
        over gateway: any GatewayCalls,
        needing capability: Capability? = nil,
        on loop: isolated EventLoop,
        ask: () -> Void,
        completion: @escaping Completion
    ) {
        guard gateway.isOnline else { return readKept(on: loop, completion: completion) }
        if let fault = capability.flatMap({ gateway.obstacle(to: $0) }) { return completion(.failure(.gateway(fault))) }
        if !refresh, isFresh(forMs: life, on: loop) { return completion(.success(ShownList(live: rows()))) }
        waiters.append(mayBeKept && !refresh ? firstAnswer(on: loop, completion) : completion)
        if !isAsking { ask() }
    }

    /// Gives the reader the stored list if no other answer comes for long.
    private func firstAnswer(on loop: isolated EventLoop, _ completion: @escaping Completion) -> Completion {
        let first = FirstAnswer(
            on: loop,
            kept: { [self] give in
                readKept(on: loop) { result in
                    guard case .success(let list) = result, list.asOf != nil else { return give(nil) }
                    give(result)
                }
            },
            completion: completion
        )
        return { first.give($0, on: loop) }
    }

    /// Numbers a request that is sent now.
    func ask() -> Int {
        isAsking = true
        isOutdated = false
        asked += 1
        return asked
    }

    /// Whether an answer belongs to the last request.
    func isLast(_ number: Int) -> Bool { number == asked }

    /// Notes the answer to the last request.
    /// - Returns: whether events were lost since the answer before.
    func listed(on loop: isolated EventLoop) -> Bool {
        defer { (hasGap, wasListed) = (false, true) }
        isAsking = false
        readAt = isOutdated ? nil : loop.now
        return hasGap
    }

    func answer(_ rows: [Row]) {
        for waiter in takeWaiters() { waiter(.success(ShownList(live: rows))) }
    }

    /// Gives readers the stored list if the gateway did not answer.
    func failed(_ fault: GatewayFault, on loop: isolated EventLoop) {
        isAsking = false
        for waiter in takeWaiters() {
            if fault.isAbsence {
                readKept(on: loop, completion: waiter)
            } else {
                waiter(.failure(.gateway(fault)))
            }
        }
    }

    private func takeWaiters() -> [Completion] {
        defer { waiters = [] }
        return waiters
    }

    // MARK: The database

    private static var space: String { "gateway" }

    /// Writes the list if it has changed; returns whether it has.
    @discardableResult
    func keep(_ rows: [Row], now: Timestamp) -> Bool {
        var writer = JSONWriter()
        writer.array { list in for row in rows { row.writeKept(to: &list) } }
        let bytes = writer.bytes
        guard self.bytes != bytes else { return false }
        self.bytes = bytes
        feed.journal.cache(cost: bytes.count) { [name] transaction in
            try transaction.values.set(bytes, space: Self.space, name: name, at: now)
        }
        return true
    }

    private func readKept(on loop: isolated EventLoop, completion: @escaping Completion) {
        feed.read(on: loop) { [name] tables in
            try tables.values.get(space: Self.space, name: name)
        } completion: { result in
            switch result {
            case .success(let kept):
                let list = kept.flatMap { try? JSONDocument(parsing: $0.bytes).root }
                let rows = list?.elements.compactMap(Row.init(kept:)) ?? []
                completion(.success(ShownList(kept: rows, asOf: kept?.updatedAt)))
            case .failure(let error): completion(.failure(.store(error)))
            }
        }
    }
}
