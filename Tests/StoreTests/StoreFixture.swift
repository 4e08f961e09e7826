import Basics
import EventStream
import Outbox
import POSIX
import SQLite
import Store
import Synchronization
import TestSupport

/// Collects from any thread.
final class Collected<Value: Sendable>: Sendable {
    private let state = Mutex<[Value]>([])
    func append(_ value: Value) { state.withLock { $0.append(value) } }
    var values: [Value] { state.withLock { $0 } }
}

/// The wall clock of a store, moved by hand in both directions.
final class StoreClock: Sendable {
    private let ms = Mutex<Int64>(1_700_000_000_000)
    var now: Timestamp { Timestamp(milliseconds: ms.withLock { $0 }) }
    func advance(_ delta: Int64) { ms.withLock { $0 += delta } }
}

/// A store in a directory of its own, opened and closed at will.
struct StoreFixture {
    let scratch: ScratchDirectory
    let clock = StoreClock()
    let published = Collected<StoredEvent>()
    let directories = Collected<StateDirectory>()
    var fileSystem: String?

    init() throws {
        scratch = try ScratchDirectory()
    }

    func configuration(_ adjust: (inout StoreConfiguration) -> Void = { _ in }) throws -> StoreConfiguration {
        let clock = clock
        let epoch = EventEpoch.make(random: .random(in: 0 ... .max))
        var configuration = StoreConfiguration(
            directory: try StateDirectory(path: scratch.file("state")),
            clock: { clock.now },
            makeEpoch: { epoch }
        )
        configuration.fileSystem = fileSystem
        adjust(&configuration)
        return configuration
    }

    func open(_ adjust: (inout StoreConfiguration) -> Void = { _ in }) throws -> (StateStore, StoreOpening) {
        let configuration = try configuration(adjust)
        directories.append(configuration.directory)
        let opened = try StateStore.open(configuration)
        PublishedEvents.collect(of: opened.0, in: published)
        return opened
    }

    func remove(_ file: String) throws { try FileSystem.remove(scratch.file("state/\(file)")) }

    /// Closes the store as at the end of a process: the file is closed and the directory free.
    func end(_ store: StateStore) async {
        await store.close()
        for directory in directories.values { directory.release() }
    }

    func entry(_ id: String, session: String = "main", text: String = "hello") -> OutboxEntry {
        OutboxEntry(
            id: id,
            session: session,
            text: text,
            createdAt: clock.now,
            expiresAt: clock.now.adding(milliseconds: 48 * 3_600_000)
        )
    }
}

/// The fixtures that collect the events of each store.
enum PublishedEvents {
    private static let collections = Mutex<[ObjectIdentifier: Collected<StoredEvent>]>([:])

    static func collect(of store: StateStore, in collection: Collected<StoredEvent>) {
        collections.withLock { $0[ObjectIdentifier(store)] = collection }
    }

    static func take(_ events: [StoredEvent], of store: StateStore) {
        let collection = collections.withLock { $0[ObjectIdentifier(store)] }
        for event in events { collection?.append(event) }
    }
}

extension StateStore {
    /// A commit whose events are collected before it is reported.
    nonisolated func submit<Value: Sendable>(
        cost: Int = 1024,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        commit(cost: cost, isUrgent: false, body) { [self] result, events in
            PublishedEvents.take(events, of: self)
            completion(result)
        }
    }

    nonisolated func submit<Value: Sendable>(
        cost: Int = 1024,
        _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit(cost: cost, body) { continuation.resume(with: $0) }
        }
    }

    nonisolated func enqueue(
        _ entry: OutboxEntry,
        claim: ReceiptTable.Claim? = nil
    ) async throws -> Enqueuing {
        try await submit { transaction in
            try transaction.enqueue(
                entry,
                payload: OutboxTable.Payload(text: entry.text, body: nil),
                claim: claim
            )
        }
    }

    nonisolated func entries() async throws -> [OutboxEntry] {
        try await read { try $0.outbox.open() }
    }
}
