import Dispatch
import SQLite

/// Decides when the write-ahead log is copied into the database: beside the writer if it is idle or the log is large;
/// the writer waits only if the log would otherwise grow without end.
struct CheckpointPlan {
    enum Step: Equatable {
        case nothing
        case now
        case whenIdle(generation: Int64)
        case blocking
    }

    static let idle = DispatchTimeInterval.milliseconds(500)
    /// Fewer pages than this are not worth a sync.
    static let smallLog = 64
    /// 8 MiB of 4 KiB pages.
    static let largeLog = 2_048
    /// 64 MiB: readers or a steady stream of writes kept the log from restarting.
    static let hugeLog = 16_384

    private var generation: Int64 = 0
    private var isWaitingForIdle = false
    private var isRunning = false
    /// Pages already copied; the log shrinks only when a commit restarts it.
    private var copiedPages = 0

    mutating func committed() {
        generation += 1
    }

    mutating func next(logPages: Int) -> Step {
        if logPages < copiedPages { copiedPages = 0 }
        let pages = logPages - copiedPages
        if logPages >= Self.hugeLog, !isRunning { return .blocking }
        if isRunning || pages < Self.smallLog { return .nothing }
        if pages >= Self.largeLog { return .now }
        guard !isWaitingForIdle else { return .nothing }
        isWaitingForIdle = true
        return .whenIdle(generation: generation)
    }

    /// True if nothing was committed since; otherwise the next burst asks again.
    mutating func isIdle(since generation: Int64) -> Bool {
        isWaitingForIdle = false
        return generation == self.generation
    }

    mutating func begin() -> Bool {
        guard !isRunning else { return false }
        isRunning = true
        return true
    }

    mutating func ended(_ result: SQLiteConnection.CheckpointResult?) {
        isRunning = false
        if let result { copiedPages = result.copiedPages }
    }
}
