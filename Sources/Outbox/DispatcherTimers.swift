import Basics

/// Everything that the dispatcher waits for, behind one timer of its owner: ten thousand waiting entries cost a heap entry
/// each and no wake-ups.
struct DispatcherTimers: Sendable {
    enum Wake: Sendable, Equatable {
        case entry(String)
        case queue(QueueKey)
        case storage
    }

    /// The wall clock is read at least this often while something waits for it, because it may jump.
    private static let calendarLookMs: Int64 = 60_000

    /// By the monotonic clock.
    private var wakes = DeadlineHeap<Wake>()
    /// By the wall clock: `notBefore` and expiries mean what the calendar says.
    private var calendar = DeadlineHeap<String>()
    private var armedAtMs: Int64?

    mutating func wake(_ wake: Wake, atMs: Int64) { wakes.insert(wake, at: atMs) }

    mutating func remind(_ id: String, atWallMs: Int64) { calendar.insert(id, at: atWallMs) }

    mutating func popWake(_ now: Moment) -> Wake? { wakes.popDue(now.monotonicMs) }

    mutating func popDate(_ now: Moment) -> String? { calendar.popDue(now.wallMs) }

    /// The owner's timer has fired.
    mutating func fired() { armedAtMs = nil }

    /// Deadlines of entries that ended long before them would pile up for two days.
    mutating func trim(entries: Int, isKept: (String) -> Bool, isAwaited: (String) -> Bool) {
        let most = 1_024 + 4 * entries
        if calendar.count > most { calendar.keep(isKept) }
        if wakes.count > most {
            wakes.keep { wake in
                if case .entry(let id) = wake { isAwaited(id) } else { true }
            }
        }
    }

    /// The order to set the owner's timer anew; nil where it is right as it is.
    mutating func rearm(_ now: Moment) -> DispatcherAction? {
        var next = wakes.first?.at
        if let date = calendar.first?.at {
            let rest = min(max(0, date - now.wallMs), Self.calendarLookMs)
            next = min(next ?? Int64.max, now.monotonicMs + rest)
        }
        // A timer that is a little early for the calendar is left as it is, rather than set anew with every input.
        if let armed = armedAtMs, let wanted = next, armed <= wanted, armed > now.monotonicMs { return nil }
        guard next != armedAtMs else { return nil }
        armedAtMs = next
        return .arm(atMs: next)
    }
}
