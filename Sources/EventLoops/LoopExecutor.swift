import CSystem
import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Drives one loop: a single endless work item on a private serial queue alternates between the poller and the mailbox.
/// Isolation rests on the queue being private and serial: no source, timer or `sync` may ever use it.
package final class LoopExecutor: SerialExecutor {
    /// The time in nanoseconds that mailbox entries may run between two checks of the sockets, so that a flood of posts
    /// cannot starve the sockets. After a longer turn of the sockets the entries may run as long, so that the sockets
    /// cannot starve them.
    private static let leastBudget: UInt64 = 200_000

    private let queue: DispatchQueue
    private let mailbox: Mailbox
    /// The thread that is inside `run`; 0 for none.
    private let thread = Atomic<UInt>(0)

    init(label: String, ring: @escaping @Sendable () -> Void) {
        queue = DispatchQueue(label: label)
        mailbox = Mailbox(ring: ring)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    func submit(_ entry: MailboxEntry) {
        if !mailbox.put(entry) { queue.async { self.perform(entry) } }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    /// Answers the common case quickly; nil makes the runtime call `checkIsolated`.
    package func isIsolatingCurrentContext() -> Bool? {
        thread.load(ordering: .relaxed) == Self.currentThread ? true : nil
    }

    /// `enter` supplies the turn, which waits for events (or only checks for them) and handles the ready ones; nil ends
    /// the loop.
    func start(
        _ enter: @escaping @Sendable (_ drive: @Sendable (_ turn: (_ mayBlock: Bool) -> UInt64?) -> Void) -> Void
    ) {
        queue.async { enter { self.run($0) } }
    }

    private func run(_ turn: (Bool) -> UInt64?) {
        thread.store(Self.currentThread, ordering: .relaxed)
        var batch: [MailboxEntry] = []
        var next = 0
        var mayBlock = mailbox.park()
        while let woken = turn(mayBlock) {
            if next == batch.count {
                batch.removeAll(keepingCapacity: true)
                next = 0
                mailbox.take(into: &batch)
            }
            if next < batch.count { perform(batch, from: &next, since: woken) }
            mayBlock = next == batch.count && mailbox.park()
        }
        while next < batch.count {
            perform(batch[next])
            next += 1
        }
        thread.store(0, ordering: .relaxed)
        mailbox.close { entry in queue.async { self.perform(entry) } }
    }

    private func perform(_ batch: [MailboxEntry], from next: inout Int, since woken: UInt64) {
        let start = cs_monotonic_ns()
        let budget = max(start &- woken, Self.leastBudget)
        while next < batch.count {
            perform(batch[next])
            next += 1
            if cs_monotonic_ns() &- start > budget { break }
        }
    }

    private func perform(_ entry: MailboxEntry) {
        switch entry {
        case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        case .post(let work): work()
        }
    }

    private static var currentThread: UInt {
        #if canImport(Glibc)
        UInt(pthread_self())
        #else
        unsafe UInt(bitPattern: pthread_self())
        #endif
    }
}
