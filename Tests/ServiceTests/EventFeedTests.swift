import Basics
import EventLoops
import EventStream
import Store
import TestSupport
import Testing

@testable import Service

struct EventFeedTests {
    private final class Holds: ServiceEventReceiver {
        var changes: [Bool] = []

        func receive(_ event: ServiceEvent, on loop: isolated EventLoop) {
            if case .diskFellBehind(let isBehind) = event, changes.last != isBehind { changes.append(isBehind) }
        }
    }

    private static let count = 6000

    @Test func `the gateway is held back while much is under way, and no event is lost`() async throws {
        let scratch = try ScratchDirectory()
        let (store, _) = try StateStore.open(
            StoreConfiguration(
                directory: try StateDirectory(path: scratch.file("state")),
                clock: { Timestamp(milliseconds: 1) },
                makeEpoch: { EventEpoch.make(random: 7) }
            )
        )
        let loop = try EventLoop()
        loop.start()
        let ends = Inbox<[Bool]>()
        loop.post { loop in
            let events = ServiceEvents()
            let holds = Holds()
            events.add(holds)
            let feed = EventFeed(journal: store, events: events)
            for _ in 0..<Self.count { feed.publish("session", on: loop) { _ in } }
            feed.commit(on: loop) { _ in
            } completion: { _ in
                ends.put(feed.failures == 0 ? holds.changes : [])
            }
        }
        #expect(try await ends.next() == [true, false])
        let last = try await store.read { try $0.events.bounds().newest.sequence }
        #expect(last == Int64(Self.count))
        await loop.stop()
        await store.close()
    }
}
