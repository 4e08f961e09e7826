/// Runs work one at a time for each key, in order.
final class TurnQueues<Key: Hashable> {
    /// The current work of each key, and the work that waits for it.
    private var queues: [Key: [() -> Void]] = [:]

    /// Runs the work after all earlier work for this key; the work calls its argument when it ends.
    func run(_ key: Key, _ work: @escaping (@escaping () -> Void) -> Void) {
        let step = { [weak self] in
            work {
                guard let self else { return }
                self.queues[key]?.removeFirst()
                if let next = self.queues[key]?.first { return next() }
                self.queues[key] = nil
            }
        }
        queues[key, default: []].append(step)
        if queues[key]?.count == 1 { step() }
    }

    func count(_ key: Key) -> Int { queues[key]?.count ?? 0 }
}
