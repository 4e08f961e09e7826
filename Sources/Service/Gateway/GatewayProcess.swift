import Basics
import Gateway
import JSONBytes
import Store

/// The gateway's process, told from others by the time of its start. What a process had in memory alone ends with it: its runs, the
/// messages it put aside, the keys it knows.
struct GatewayProcess: Sendable, Equatable {
    /// By the gateway's clock.
    var startedAt: Timestamp
    /// When the last hello came, by our monotonic clock, and the age it named; nil for a process known from the database.
    private var seen: (atMs: Int64, ageMs: Int64)?

    /// A hello's figure may be off by its travel time; a gateway does not start twice in this time.
    private static let tolerance: Int64 = 2_000

    init(ageMs: Int64, gatewayTime: Timestamp, monotonicMs: Int64) {
        startedAt = gatewayTime.adding(milliseconds: -ageMs)
        seen = (monotonicMs, ageMs)
    }

    init(startedAt: Timestamp) { self.startedAt = startedAt }

    static func == (left: GatewayProcess, right: GatewayProcess) -> Bool { left.startedAt == right.startedAt }

    /// Either clock may have been set, and either machine may have slept; so one of the two signs is enough.
    func isSame(as later: GatewayProcess) -> Bool {
        if abs(later.startedAt.milliseconds - startedAt.milliseconds) <= Self.tolerance { return true }
        guard let seen, let now = later.seen else { return false }
        return now.ageMs >= seen.ageMs + (now.atMs - seen.atMs) - Self.tolerance
    }

    // MARK: Kept from one process of Ladle to the next

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
