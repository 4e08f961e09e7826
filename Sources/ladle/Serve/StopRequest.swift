import POSIX
import Synchronization

/// The request to stop, by SIGTERM, SIGINT or otherwise. It is kept until somebody can carry it out: a host that waits for the lease does so
/// in another way than one that serves.
final class StopRequest: Sendable {
    private struct State {
        var isWatching = false
        var isAsked = false
        var work: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// From now on the signals ask; until then they end the process.
    func watch(_ signals: Signals) {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if isFirst { signals.whenAskedToStop { self.ask() } }
    }

    func ask() {
        let work = state.withLock { state in
            state.isAsked = true
            return state.work
        }
        work?()
    }

    /// Calls the work at a request, or at once if there was one; in place of work that was given before.
    func whenAsked(_ work: @escaping @Sendable () -> Void) {
        let isAsked = state.withLock { state in
            state.work = work
            return state.isAsked
        }
        if isAsked { work() }
    }
}
