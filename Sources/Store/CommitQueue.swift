import Basics
import EventStream
import POSIX
import Synchronization

/// An operation waiting for its transaction.
struct StoreOperation: Sendable {
    /// The approximate number of bytes that the operation writes.
    var cost: Int
    /// By the monotonic clock, in milliseconds.
    let arrival = HostClock.monotonicMilliseconds
    /// On a full disk it may use the room that is kept for such operations.
    var isUrgent = false
    /// Does the work and returns the report of its result; may run a second time after a rollback.
    var body: @Sendable (inout StoreTransaction) throws -> @Sendable () -> Void
    var fail: @Sendable (any Error) -> Void

    init<Value: Sendable>(
        cost: Int,
        isUrgent: Bool,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
    ) {
        self.cost = cost
        self.isUrgent = isUrgent
        self.body = { transaction in
            let value = try body(&transaction)
            let events = transaction.appended
            return { completion(.success(value), events) }
        }
        fail = { completion(.failure($0), []) }
    }
}

/// Operations in the order of their arrival, from any thread. Operations that arrive during a commit share the next
/// one.
final class CommitQueue: Sendable {
    struct Limits: Sendable {
        /// The most operations in one commit, so that the first caller of a burst does not wait for all of it.
        var batchOperations = 512
        var batchBytes = 8 << 20
        /// The most waiting operations: further ones fail at once.
        var waitingOperations = 20_000
        var waitingBytes = 256 << 20
    }

    private struct State {
        var waiting: [StoreOperation] = []
        var bytes = 0
        var isDraining = false
        var isClosed = false
    }

    enum Admission: Equatable {
        /// The queue was idle and must be started.
        case first
        case waiting
        case refused(StoreError)
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    func append(_ operation: StoreOperation) -> Admission {
        state.withLock { state in
            guard !state.isClosed else { return .refused(.closed) }
            // One operation is always admitted, since a large attachment alone may exceed the limit.
            guard
                state.waiting.isEmpty
                    || (state.waiting.count < limits.waitingOperations
                        && state.bytes + operation.cost <= limits.waitingBytes)
            else { return .refused(.overloaded) }
            state.waiting.append(operation)
            state.bytes += operation.cost
            if state.isDraining { return .waiting }
            state.isDraining = true
            return .first
        }
    }

    /// The next batch; nil if there is none, and the queue is then idle again.
    func take() -> [StoreOperation]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            var count = 0
            var bytes = 0
            while count < state.waiting.count, count < limits.batchOperations,
                count == 0 || bytes + state.waiting[count].cost <= limits.batchBytes
            {
                bytes += state.waiting[count].cost
                count += 1
            }
            let batch = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            state.bytes -= bytes
            return batch
        }
    }

    /// Admits no more operations; the waiting ones are still carried out.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}
