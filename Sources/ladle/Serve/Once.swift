import Synchronization

/// Runs its work at the first call, on any thread, and never again.
final class Once: Sendable {
    private let work: Mutex<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = Mutex(work)
    }

    func run() {
        let taken = work.withLock { work in
            defer { work = nil }
            return work
        }
        taken?()
    }
}
