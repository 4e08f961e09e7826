import Basics
import Store
import EventStream
import Outbox
import SQLite
import Synchronization
import TestSupport

/// Collects from any thread.
final class Collected<Value: Sendable>: Sendable {
    private let state = Mutex<[Value]>([])
    func append(_ value: Value) { state.withLock { $0.append(value) } }
    var values: [Value] { state.withLock { $0 } }
}

final class ManualClock: Sendable {
    private let ms = Mutex<Int64>(1_700_000_000_000)
    var now: Timestamp { Timestamp(milliseconds: ms.withLock { $0 }) }
    func advance(_ delta: Int64) { ms.withLock { $0 += delta } }
}

/// A store in a directory of its own, opened and closed at will.
struct StoreFixture {
    let scratch: ScratchDirectory
    let clock = ManualClock()
    let published = Collected<StoredEvent>()
    let directories = Collected<StateDirectory>()
    var fileSystem: String?

    init() throws {
        scratch = try ScratchDirectory()
    }

    func configuration(_ adjust: (inout StoreConfiguration) -> Void = { _ in }) throws -> StoreConfiguration {
        let published = published
        let clock = clock
        let epoch = EventEpoch.make(random: .random(in: 0 ... .max))
        var configuration = StoreConfiguration(
            directory: try StateDirectory(path: scratch.file("state")),
            clock: { clock.now },
            makeEpoch: { epoch },
            published: { events in
                for event in events { published.append(event) }
            }
        )
        configuration.fileSystem = fileSystem
        adjust(&configuration)
        return configuration
    }

    func open(_ adjust: (inout StoreConfiguration) -> Void = { _ in }) throws -> (StateStore, StoreOpening) {
        let configuration = try configuration(adjust)
        directories.append(configuration.directory)
        return try StateStore.open(configuration)
    }

    /// As at the end of a process: the file is closed and the directory free.
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

extension StateStore {
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
        try await reader.read { connection in try OutboxTable(connection).open() }
    }
}
