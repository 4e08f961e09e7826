import Bridge
import Store
import EventLoops

/// Committed events find the pipeline, which is made after the store that commits them.
final class EventRelay: Sendable {
    private let loop: EventLoop
    private let target = Locked<LoopBound<EventPipeline>?>(nil)

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func aim(at pipeline: LoopBound<EventPipeline>) {
        target.withLock { $0 = pipeline }
    }

    func pass(_ events: [StoredEvent]) {
        guard let pipeline = target.withLock({ $0 }) else { return }
        loop.post { pipeline.value(on: $0)?.published(events, on: $0) }
    }
}
