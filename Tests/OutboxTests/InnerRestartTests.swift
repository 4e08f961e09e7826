import Basics
import Ledger
import Outbox
import Testing

/// A gateway restarts inside its process: the uptime goes on, keys are remembered, and messages that waited are lost.
struct InnerRestartTests {
    private static let nothing = SearchReport(isComplete: true)

    /// Answers each search with a page that shows nothing of the message.
    private func pass(_ ms: Int64, _ world: inout World, until isOver: (World) -> Bool = { _ in false }) {
        let end = world.now.monotonicMs + ms
        while world.now.monotonicMs < end, !isOver(world) {
            world.pass(1_000)
            if world.searches.count > world.reported { world.report(Self.nothing) }
        }
    }

    /// `restart-in-process.v2026.3.1`, round 2: "message 2.1 to work" comes while a tool runs and the gateway drains. It is acknowledged, gets
    /// an empty `final`, and nothing shows it after the restart; its key is answered `started` with an empty `final` again.
    private func drained() -> World {
        var world = World()
        world.online(.march, uptimeMs: 29_000)
        world.enqueue("a")
        world.acknowledge("a")
        world.run("a", .deferred)
        world.pass(6_000)
        world.offline()
        world.pass(600)
        world.online(.march, uptimeMs: 35_600)
        return world
    }

    @Test func `a message that the restart lost is looked for at once, and told as unknown a minute later`() {
        var world = drained()
        #expect(world.state("a") == .accepted)
        #expect(world.searches.count == 1, "it is read again right after the reconnect")
        world.report(Self.nothing)
        pass(59_000, &world)
        #expect(world.state("a") == .accepted)
        pass(2_000, &world)
        #expect(world.state("a") == .unconfirmed)
        #expect(world.disk["a"]?.fault?.code == "UNKNOWN")
        #expect(world.disk["a"]?.fault?.detail.contains("cancel the message and send it anew") == true)
        pass(24 * 3_600_000, &world)
        #expect(world.state("a") == .unconfirmed, "a person decides")
        #expect(world.sent == ["a"], "keys outlive such a restart, so the gateway would not run it again")
        world.send(.evidence(key: "a", .history))
        #expect(world.state("a") == .delivered)
        #expect(world.violations == [])
    }

    @Test func `a message is kept as accepted if the gateway says that its run is in progress`() {
        var world = World.unanswered()
        world.offline()
        world.online(uptimeMs: 1_000_000)
        world.report(Self.nothing)
        world.answer(.acknowledged(.init(status: .inFlight, runID: "a")), to: "a")
        #expect(world.state("a") == .accepted)
        pass(3_600_000, &world)
        #expect(world.state("a") == .accepted)
        #expect(world.sent.filter { $0 == "a" } == ["a", "a"])
    }

    @Test func `a boot id tells the same process from another, whatever the clocks say`() {
        for (boot, state) in [("one", .accepted), ("two", .unconfirmed)] as [(String, OutboxState)] {
            var world = World()
            world.online(.autumn, bootID: "one")
            world.enqueue("a")
            world.acknowledge("a")
            world.offline()
            world.pass(30_000)
            world.online(.autumn, uptimeMs: 1_030_000, bootID: boot)
            #expect(world.state("a") == state)
            #expect(world.searches.count == 1)
        }
    }

    @Test func `a message without an answer goes again only after a whole page without it`() {
        var world = World.unanswered()
        world.offline()
        world.pass(5_000)
        world.online(uptimeMs: 1_005_000)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
        world.pass(1_000)
        world.report(Self.nothing)
        #expect(world.dispatches.map(\.attempt.key) == ["a", "a"])
    }
}
