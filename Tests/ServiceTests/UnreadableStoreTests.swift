import EventLoops
import EventStream
import Gateway
import Store
import TestSupport
import Testing
import Upstream

@testable import Service

/// A database that cannot be read is a fault, and never an empty answer.
struct UnreadableStoreTests {
    private final class UnreadableJournal: Journal {
        func commit<Value: Sendable>(
            cost: Int,
            _ body: @escaping @Sendable (inout StoreTransaction) throws -> Value,
            completion: @escaping @Sendable (Result<Value, any Error>, [StoredEvent]) -> Void
        ) {
            completion(.failure(StoreError.unavailable("disk I/O error")), [])
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (StoreTables) throws -> Value,
            completion: @escaping @Sendable (Result<Value, any Error>) -> Void
        ) {
            completion(.failure(StoreError.unavailable("disk I/O error")))
        }

        func probe() async -> StoreError? { .unavailable("disk I/O error") }
        var health: StoreHealth { .ok }
        var statistics: StoreStatistics { StoreStatistics() }
        var oldest: EventID? { nil }
    }

    private final class GatewayAway: GatewayCalls {
        var isOnline: Bool { false }
        var hello: Hello? { nil }
        var clockSkewMs: Int64 { 0 }

        func call(
            method: String,
            params: [UInt8],
            timeoutMs: Int64,
            on loop: isolated EventLoop,
            completion: @escaping (CallOutcome) -> Void
        ) -> CallID {
            CallID(1)
        }

        func hint(toGain scope: String) -> String { scope }
        func holdInput(_ isHeld: Bool, on loop: isolated EventLoop) {}
    }

    private enum Reading: String, CaseIterable {
        case picture, sessions, agents, run, runOfMessage, runs, messages, entries, entry
    }

    /// Whether the reading failed.
    private static func fails(
        _ reading: Reading,
        _ services: Services,
        on loop: isolated EventLoop,
        then report: @escaping (Bool) -> Void
    ) {
        func note<Value, Fault: Error>(_ result: Result<Value, Fault>) {
            if case .failure = result { report(true) } else { report(false) }
        }
        switch reading {
        case .picture: services.avatars.read("main", on: loop) { note($0) }
        case .sessions: services.lists.readSessions(on: loop) { note($0) }
        case .agents: services.lists.readAgents(on: loop) { note($0) }
        case .run: services.runArchive.read("r", on: loop) { note($0) }
        case .runOfMessage: services.runArchive.find("r", on: loop) { note($0) }
        case .runs: services.runArchive.page(sessions: [nil], before: nil, limit: 1, on: loop) { note($0) }
        case .messages:
            let query = MessagePages.Query(session: "agent:main:main", limit: 1, before: nil, after: nil)
            services.messagePages.read(query, on: loop) { note($0) }
        case .entries:
            let query = OutboxReader.Query(sessions: [nil], states: [], before: nil, limit: 1)
            services.outboxReader.page(query, on: loop) { note($0) }
        case .entry: services.outboxReader.read("e", on: loop) { note($0) }
        }
    }

    @Test func `no read that fails is an empty answer`() async throws {
        let loop = try EventLoop()
        loop.start()
        let answers = Inbox<String>()
        for reading in Reading.allCases {
            loop.post { loop in
                let gateway = GatewayAway()
                let services = Services(ServiceSettings(), gateway: gateway, journal: UnreadableJournal())
                Self.fails(reading, services, on: loop) { failed in
                    withExtendedLifetime((services, gateway)) { answers.put("\(reading) \(failed)") }
                }
            }
            #expect(try await answers.next() == "\(reading) true")
        }
        await loop.stop()
    }
}
