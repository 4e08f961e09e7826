import Basics
import Gateway
import JSONBytes
import Store

/// The gateway's process, identified by its start time. State that the gateway holds only in memory ends with the
/// process: runs, deferred messages, known keys.
struct GatewayProcess: Sendable, Equatable {
    /// The start time on the gateway's clock.
    var startedAt: Timestamp
    /// The monotonic time of the last hello and the uptime it named; nil for a process known from the database.
    private var seen: (atMs: Int64, ageMs: Int64)?

    /// Allows for the hello's travel time; a gateway does not start twice in so short a time.
    private static let tolerance: Int64 = 2_000

    init(ageMs: Int64, gatewayTime: Timestamp, monotonicMs: Int64) {
        startedAt = gatewayTime.adding(milliseconds: -ageMs)
        seen = (monotonicMs, ageMs)
    }

    init(startedAt: Timestamp) { self.startedAt = startedAt }

    static func == (left: GatewayProcess, right: GatewayProcess) -> Bool { left.startedAt == right.startedAt }

    /// Whether both are the same process. Either clock may have been set, and either machine may have slept, so a match
    /// of one clock is enough.
    func isSame(as later: GatewayProcess) -> Bool {
        if abs(later.startedAt.milliseconds - startedAt.milliseconds) <= Self.tolerance { return true }
        guard let seen, let now = later.seen else { return false }
        return now.ageMs >= seen.ageMs + (now.atMs - seen.atMs) - Self.tolerance
    }

    // MARK: Stored across restarts

    private static let space = "gateway"
    private static let name = "process"

    static func kept(in tables: StoreTables) throws -> GatewayProcess? {
        let value = try tables.values.get(space: space, name: name)
        let root = value.flatMap { try? JSONDocument(parsing: $0.bytes).root }
        return root?["startedAt"]?.int.map { GatewayProcess(startedAt: Timestamp(milliseconds: $0)) }
    }

    func keep(in journal: any Journal, now: Timestamp) {
        var writer = JSONWriter()
        writer.object { $0.member("startedAt", startedAt.milliseconds) }
        let bytes = writer.bytes
        journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: Self.name, at: now)
        }
    }
}
