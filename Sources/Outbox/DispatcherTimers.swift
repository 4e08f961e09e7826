import Basics

/// Everything that the dispatcher waits for, with a single timer of its owner: ten thousand waiting entries cost a heap
/// entry each and no wake-ups.
struct DispatcherTimers: Sendable {
    enum Wake: Sendable, Equatable {
        case entry(String)
        case queue(QueueKey)
        case storage
        case pause
    }

    /// The wall clock may jump, so it is read at least this often while a date is pending.
    private static let calendarCheckMs: Int64 = 60_000

    /// Times on the monotonic clock.
    private var wakes = DeadlineHeap<Wake>()
    /// Times on the wall clock: `notBefore` and expiries are calendar times.
    private var calendar = DeadlineHeap<String>()
    private var armedAtMs: Int64?

    mutating func wake(_ wake: Wake, atMs: Int64) { wakes.insert(wake, at: atMs) }

    mutating func remind(_ id: String, atWallMs: Int64) { calendar.insert(id, at: atWallMs) }

    mutating func popWake(_ now: Moment) -> Wake? { wakes.popDue(now.monotonicMs) }

    mutating func popDate(_ now: Moment) -> String? { calendar.popDue(now.wallMs) }

    /// Records that the owner's timer has fired.
    mutating func fired() { armedAtMs = nil }

    /// Drops deadlines of entries that ended long before, which would otherwise pile up for two days.
    mutating func trim(entries: Int, isKept: (String) -> Bool, isAwaited: (String) -> Bool) {
        let most = 1_024 + 4 * entries
        if calendar.count > most { calendar.keep(isKept) }
        if wakes.count > most {
            wakes.keep { wake in
                if case .entry(let id) = wake { isAwaited(id) } else { true }
            }
        }
    }

    /// The order to set the owner's timer; nil if it is already right.
    mutating func rearm(_ now: Moment) -> DispatcherAction? {
        var next = wakes.first?.at
        if let date = calendar.first?.at {
            let rest = min(max(0, date - now.wallMs), Self.calendarCheckMs)
            next = min(next ?? Int64.max, now.monotonicMs + rest)
        }
        // A timer slightly too early for the calendar stays, to avoid setting it with every input.
        if let armed = armedAtMs, let wanted = next, armed <= wanted, armed > now.monotonicMs { return nil }
        guard next != armedAtMs else { return nil }
        armedAtMs = next
        return .arm(atMs: next)
    }
}
