import EventLoops

/// One flow at a time for each key, in the order in which they came.
final class TurnQueues<Key: Hashable> {
    /// The flows that wait for the one at work, by its key.
    private var queues: [Key: [() -> Void]] = [:]

    /// Waits until all earlier flows of this key have ended. Each call is followed by one of `end`.
    func begin(_ key: Key, on loop: isolated EventLoop) async {
        guard queues[key] != nil else {
            queues[key] = []
            return
        }
        await loop.wait { begin in queues[key]?.append(begin) }
    }

    func end(_ key: Key) {
        guard queues[key]?.isEmpty == false else { return queues[key] = nil }
        queues[key]?.removeFirst()()
    }

    /// The flow at work and those that wait.
    func count(_ key: Key) -> Int { queues[key].map { $0.count + 1 } ?? 0 }
}
