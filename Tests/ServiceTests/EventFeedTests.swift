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

    // MARK: Order

    private func delta(_ run: String, _ offset: Int, _ text: String) -> StreamEvent {
        let delta = StreamEvent.Delta(run: run, session: "s", offset: offset, text: text, replaces: false)
        return StreamEvent(delta, at: ManualClock.start)
    }

    @Test func `an event that is not kept waits for the durable ones before it`() async throws {
        try await withServices { bench, loop in
            bench.journal.hold()
            bench.services.feed.publish("session", on: loop) { _ in }
            bench.services.feed.pass(self.delta("r", 0, "one"), on: loop)
            bench.services.feed.publish("message", on: loop) { _ in }
            bench.services.feed.pass(self.delta("r", 3, "two"), on: loop)
            try await bench.settle(on: loop)
            #expect(bench.types().isEmpty)
            #expect(bench.services.feed.firstHeld(of: "r")?.text == "one")
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(bench.types() == ["session", "run.delta", "message", "run.delta"])
            #expect(bench.services.feed.firstHeld(of: "r") == nil)
        }
    }

    @Test func `an event that is not kept leaves at once where nothing is before it`() async throws {
        try await withServices { bench, loop in
            bench.services.feed.pass(self.delta("r", 0, "one"), on: loop)
            #expect(bench.types() == ["run.delta"])
        }
    }

    @Test func `an operation that fails publishes nothing and holds up nobody`() async throws {
        try await withServices { bench, loop in
            bench.journal.failWrites(.storageFull)
            bench.services.feed.publish("session", on: loop) { _ in }
            bench.services.feed.pass(self.delta("r", 0, "one"), on: loop)
            try await bench.settle(on: loop)
            #expect(bench.types() == ["run.delta"])
            #expect(bench.services.feed.failures == 1)
        }
    }

    @Test func `deltas beyond four megabytes are dropped while the disk stands still`() async throws {
        try await withServices { bench, loop in
            bench.journal.hold()
            bench.services.feed.publish("session", on: loop) { _ in }
            let text = String(repeating: "x", count: 1 << 20)
            for _ in 0..<5 { bench.services.feed.pass(self.delta("r", 0, text), on: loop) }
            #expect(bench.services.feed.dropped == 2)
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(bench.types().count { $0 == "run.delta" } == 3)
        }
    }

    @Test func `an event and the change it reports become durable together, or neither does`() async throws {
        try await withServices { bench, loop in
            bench.services.feed.publish("session", on: loop) { _ in
            } also: { transaction in
                try transaction.values.set([1], space: "test", name: "one", at: transaction.now)
                throw StoreError.closed
            }
            try await bench.settle(on: loop)
            #expect(bench.types().isEmpty)
            #expect(try await bench.journal.read { try $0.values.get(space: "test", name: "one") } == nil)
        }
    }

    @Test func `the events of the link are not kept`() async throws {
        try await withServices { bench, loop in
            try await bench.drop(on: loop)
            #expect(bench.types() == ["link"])
            #expect(bench.published.first?.id == nil)
        }
    }

    @Test func `two pieces of a run's text that follow each other are joined`() {
        let joined = delta("r", 0, "one").joined(with: delta("r", 3, "two"), at: ManualClock.start)
        #expect(joined?.delta?.text == "onetwo")
        #expect(delta("r", 0, "one").joined(with: delta("r", 4, "two"), at: ManualClock.start) == nil)
        #expect(delta("r", 0, "one").joined(with: delta("q", 3, "two"), at: ManualClock.start) == nil)
    }
}
