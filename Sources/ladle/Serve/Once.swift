import EventLoops

/// Runs once, whoever comes first.
final class Once: Sendable {
    private let work: Locked<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = Locked(work)
    }

    func run() {
        let taken = work.withLock { work in
            defer { work = nil }
            return work
        }
        taken?()
    }
}
