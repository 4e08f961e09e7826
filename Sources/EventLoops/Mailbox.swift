import Synchronization

/// Work that enters a loop from outside.
enum MailboxEntry: Sendable {
    case job(UnownedJob)
    case post(@Sendable () -> Void)
}

/// The one door into a loop, in arrival order. A sleeping loop is woken by `ring`, once.
///
/// Not bounded in itself: an actor job may never be refused, or its task would hang. Those who post are bounded where they
/// post from (the store's queue, what the feed has under way, one look-up a connect).
final class Mailbox: Sendable {
    private struct State {
        var entries: [MailboxEntry] = []
        /// The loop is in a blocking wait, or about to enter one.
        var isAsleep = true
        /// The loop has ended; its queue takes the entries from here on.
        var isClosed = false
    }

    private let state = Mutex(State())
    private let ring: @Sendable () -> Void

    init(ring: @escaping @Sendable () -> Void) {
        self.ring = ring
    }

    /// False when the loop has ended and the caller must use the queue.
    func put(_ entry: MailboxEntry) -> Bool {
        let (isKept, wakes) = state.withLock { state in
            if state.isClosed { return (false, false) }
            state.entries.append(entry)
            let wakes = state.isAsleep
            state.isAsleep = false
            return (true, wakes)
        }
        if wakes { ring() }
        return isKept
    }

    /// Swaps the entries with an emptied batch, so that both arrays keep their memory.
    func take(into batch: inout [MailboxEntry]) {
        state.withLock { state in
            state.isAsleep = false
            swap(&state.entries, &batch)
        }
    }

    /// True when the loop may block: nothing waits, and the next `put` will ring.
    func park() -> Bool {
        state.withLock { state in
            state.isAsleep = state.entries.isEmpty
            return state.isAsleep
        }
    }

    /// Hands what is left over in order, and everything later through `put` returning false.
    func close(handingOver: (MailboxEntry) -> Void) {
        state.withLock { state in
            state.isClosed = true
            for entry in state.entries { handingOver(entry) }
            state.entries = []
        }
    }
}
