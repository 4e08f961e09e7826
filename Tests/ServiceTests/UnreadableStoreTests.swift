import Basics
import EventLoops
import Store
import Testing

@testable import Service

/// A database that cannot be read is a fault, and never an empty answer. The gateway is away.
struct UnreadableStoreTests {
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
        func note(_ flow: @escaping () async throws -> Void) {
            loop.start {
                do {
                    try await flow()
                    report(false)
                } catch {
                    report(true)
                }
            }
        }
        switch reading {
        case .picture: note { _ = try await services.avatars.read("main", on: loop) }
        case .sessions: services.sessionModel.read(on: loop) { note($0) }
        case .agents: services.agents.read(on: loop) { note($0) }
        case .run: services.runArchive.read("r", on: loop) { note($0) }
        case .runOfMessage: note { _ = try await services.runArchive.find("r", on: loop) }
        case .runs: note { _ = try await services.runArchive.page(sessions: [nil], before: nil, limit: 1, on: loop) }
        case .messages:
            let query = MessagePages.Query(session: ServiceBench.main, limit: 1, before: nil, after: nil)
            note { _ = try await services.messagePages.read(query, on: loop) }
        case .entries:
            let query = OutboxReader.Query(sessions: [nil], states: [], before: nil, limit: 1)
            note { _ = try await services.outboxReader.page(query, on: loop) }
        case .entry: services.outboxReader.read("e", on: loop) { note($0) }
        }
    }

    @Test func `no read that fails is an empty answer`() async throws {
        try await withServices { bench, loop in
            for isBroken in [false, true] {
                bench.journal.failReads(isBroken ? .unavailable("disk I/O error") : nil)
                for reading in Reading.allCases {
                    var failed: Bool?
                    Self.fails(reading, bench.services, on: loop) { failed = $0 }
                    try await bench.settle(on: loop)
                    #expect(failed == isBroken, "\(reading)")
                }
            }
        }
    }
}
