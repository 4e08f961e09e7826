import Basics
import Gateway
import JSONBytes
import Store

/// The gateway's process, identified by its start time. State that the gateway holds only in memory ends with the
/// process: runs, deferred messages, known keys.
struct GatewayProcess: Sendable, Equatable {
    /// The start time on the gateway's clock.
    var startedAt: Timestamp
    /// The uptime that the last hello named.
    private let ageMs: Int64
    /// The monotonic time of that hello; nil for a process known from the database.
    private let seenMs: Int64?

    /// Allows for the hello's travel time.
    private static let tolerance: Int64 = 2_000

    init(ageMs: Int64, gatewayTime: Timestamp, monotonicMs: Int64) {
        startedAt = gatewayTime.adding(milliseconds: -ageMs)
        self.ageMs = ageMs
        seenMs = monotonicMs
    }

    private init(startedAt: Timestamp, ageMs: Int64) {
        self.startedAt = startedAt
        self.ageMs = ageMs
        seenMs = nil
    }

    static func == (left: GatewayProcess, right: GatewayProcess) -> Bool { left.startedAt == right.startedAt }

    /// Whether both are the same process; nil if the times do not tell. Either clock may have been set, and either
    /// machine may have slept, so a match of one clock is enough.
    func isSame(as later: GatewayProcess) -> Bool? {
        // Another process began after this one was seen, so the starts are at least this one's age apart.
        let closest = min(Self.tolerance, ageMs / 2)
        let apart = abs(later.startedAt.milliseconds - startedAt.milliseconds)
        if apart <= closest { return true }
        guard let before = seenMs, let now = later.seenMs else { return apart > Self.tolerance ? false : nil }
        let missing = ageMs + (now - before) - later.ageMs
        if abs(missing) <= closest { return true }
        // An older gateway may have taken the place of this one; or our clock was set, and our machine slept.
        return min(apart, missing) > Self.tolerance ? false : nil
    }

    // MARK: Stored across restarts

    private static let space = "gateway"
    private static let name = "process"

    static func kept(in tables: StoreTables) throws -> GatewayProcess? {
        let value = try tables.values.get(space: space, name: name)
        let root = value.flatMap { try? JSONDocument(parsing: $0.bytes).root }
        guard let startedAt = root?["startedAt"]?.int else { return nil }
        return GatewayProcess(startedAt: Timestamp(milliseconds: startedAt), ageMs: root?["ageMs"]?.int ?? 0)
    }

    func keep(in journal: any Journal, now: Timestamp) {
        var writer = JSONWriter()
        writer.object { object in
            object.member("startedAt", startedAt.milliseconds)
            object.member("ageMs", ageMs)
        }
        let bytes = writer.bytes
        journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: Self.name, at: now)
        }
    }
}
