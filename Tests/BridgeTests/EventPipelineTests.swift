import Basics
import Store
import EventLoops
import EventStream
import TestSupport
import Testing

@testable import Bridge

struct EventPipelineTests {
    /// Told of each change, on the loop.
    private final class Holds {
        var told: [Bool] = []
    }

    private static let count = 6000

    @Test func `the gateway is held back while much is under way, and no event is lost`() async throws {
        let scratch = try ScratchDirectory()
        let (store, _) = try StateStore.open(
            StoreConfiguration(
                directory: try StateDirectory(path: scratch.file("state")),
                clock: { Timestamp(milliseconds: 1) },
                makeEpoch: { EventEpoch.make(random: 7) },
                published: { _ in }
            )
        )
        let loop = try EventLoop()
        loop.start()
        let ends = Inbox<[Bool]>()
        loop.post { loop in
            let hub = EventHub(last: EventID(epoch: EventEpoch.make(random: 7), sequence: 0), bufferLimit: 1 << 20)
            let pipeline = EventPipeline(store: store, hub: hub)
            let holds = Holds()
            pipeline.heldBack = { if holds.told.last != $0 { holds.told.append($0) } }
            for _ in 0..<Self.count { pipeline.publish("session", on: loop) { _ in } }
            pipeline.commit(on: loop) { _ in
            } completion: { _ in
                ends.put(pipeline.failures == 0 ? holds.told : [])
            }
        }
        #expect(try await ends.next() == [true, false])
        let last = try await store.reader.read { try EventTable($0).bounds().newest.sequence }
        #expect(last == Int64(Self.count))
        await loop.stop()
        await store.close()
    }
}
