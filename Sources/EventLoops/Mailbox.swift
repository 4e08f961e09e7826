import Synchronization

/// Work that enters a loop from outside.
enum MailboxEntry: Sendable {
    case job(UnownedJob)
    case post(@Sendable () -> Void)
}

/// The only entry into a loop, in order of arrival. `ring` wakes a sleeping loop, once.
///
/// Not bounded itself, because refusing an actor job would hang its task. Each source of posts bounds its own: the
/// store by its queue, the feed by its open requests, the resolver to one look-up per connect.
final class Mailbox: Sendable {
    private struct State {
        var entries: [MailboxEntry] = []
        /// The loop is in a blocking wait, or about to start one.
        var isAsleep = true
        /// The loop has ended; from here on entries go to its queue.
        var isClosed = false
    }

    private let state = Mutex(State())
    private let ring: @Sendable () -> Void

    init(ring: @escaping @Sendable () -> Void) {
        self.ring = ring
    }

    /// False if the loop has ended and the caller must use the queue.
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

    /// True if the loop may block: no entry waits, and the next `put` will ring.
    func park() -> Bool {
        state.withLock { state in
            state.isAsleep = state.entries.isEmpty
            return state.isAsleep
        }
    }

    /// Hands over the remaining entries in order; for later entries `put` returns false.
    func close(handingOver: (MailboxEntry) -> Void) {
        state.withLock { state in
            state.isClosed = true
            for entry in state.entries { handingOver(entry) }
            state.entries = []
        }
    }
}
