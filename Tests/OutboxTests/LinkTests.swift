import Basics
import Ledger
import Outbox
import Testing

struct `The link` {
    @Test func `a reconnect makes heads due at once that only lacked a link`() {
        var world = World.counting()
        world.offline()
        world.enqueue("a")
        world.enqueue("b")
        world.pass(80_000)
        #expect(world.disk["a"]?.attemptCount == 5)
        world.online()
        #expect(world.sent == ["a"])
        world.finish("a")
        #expect(world.sent == ["a", "b"])
    }

    @Test func `the attempt a reconnect brought forward is not counted when it cannot be written either`() {
        var world = World.counting()
        world.offline()
        world.enqueue("a")
        world.pass(80_000)
        for _ in 0..<20 {
            world.online()
            world.answer(.notDispatched(detail: "socket closed"), to: "a")
            world.offline()
        }
        #expect(world.disk["a"]?.attemptCount == 5)
        #expect(world.state("a") == .retrying)
    }

    private func worldWithFailureBeingWritten() -> World {
        var world = World.counting()
        world.offline()
        world.enqueue("a")
        world.pass(79_999)
        world.holdsWrites = true
        world.pass(1)
        return world
    }

    @Test func `a reconnect makes a head due whose failure is still being written`() {
        var world = worldWithFailureBeingWritten()
        #expect(world.heldWrites.count == 1)
        world.online()
        world.holdsWrites = false
        world.releaseWrite()
        #expect(world.sent == ["a"])
    }

    @Test func `a link that goes again before that is written leaves the wait as it was`() {
        var world = worldWithFailureBeingWritten()
        world.online()
        world.offline()
        world.holdsWrites = false
        world.releaseWrite()
        let attempts = world.disk["a"]?.attemptCount
        world.pass(200_000)
        #expect(world.disk["a"]?.attemptCount == attempts)
        #expect(world.state("a") == .retrying)
        #expect(world.sent.isEmpty)
    }

    @Test func `a reconnect does not hurry what the gateway itself refused`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x", retryAfterMs: 90_000)), to: "a")
        world.offline()
        world.online()
        #expect(world.sent == ["a"])
        world.pass(90_000)
        #expect(world.sent == ["a", "a"])
    }

    @Test func `while the gateway refuses us nothing is tried and no attempt is used up`() {
        var world = World()
        world.enqueue("a")
        world.send(.link(.blocked(reason: "waiting for approval")))
        #expect(world.dispatcher.blockedReason(session: "main") == "waiting for approval")
        world.pass(24 * 3_600_000)
        #expect(world.disk["a"]?.attemptCount == 0)
        #expect(world.state("a") == .queued)
        world.online()
        #expect(world.sent == ["a"])
        #expect(world.dispatcher.blockedReason(session: "main") == nil)
    }

    @Test func `as long as a message waits for a run, it says so`() {
        var world = World()
        world.online()
        world.send(.run(session: "main", run: "x", phase: .active))
        world.enqueue("a")
        world.pass(599_000)
        #expect(world.sent.isEmpty)
        #expect(world.dispatcher.blockedReason(session: "main")?.contains("a run of this session goes on") == true)
        world.pass(2_000)
        #expect(world.sent == ["a"])
    }

    @Test func `a dispatch that finds no connection is free, once a connection`() {
        var world = World()
        world.enqueue("a")
        for _ in 0..<20 {
            world.online()
            world.answer(.notDispatched(detail: "socket closed"), to: "a")
            world.offline()
            world.pass(60_000)
        }
        #expect(world.disk["a"]?.attemptCount == 0)
        #expect(world.state("a") == .retrying)
        world.online()
        for _ in 0..<8 where world.state("a") == .sending {
            world.answer(.notDispatched(detail: "it takes nothing"), to: "a")
            world.pass(1_800_000)
        }
        #expect(world.state("a") == .failed, "a connection that takes nothing is not tried for ever")
    }

    @Test func `entries wait for the link up to their expiry`() {
        var world = World()
        world.offline()
        world.enqueue("a")
        world.pass(48 * 3_600_000 - 1_000)
        #expect(world.disk["a"]?.attemptCount == 0)
        #expect(world.dispatcher.blockedReason(session: "main")?.contains("offline") == true)
        world.pass(2_000)
        #expect(world.state("a") == .expired)
    }

    @Test func `a session that was reset fails what waits in it`() {
        var world = World()
        world.enqueue("a")
        world.enqueue("x", session: "other")
        world.send(.routeChanged(session: "main", detail: "session was reset"))
        #expect(world.state("a") == .failed)
        #expect(world.state("x") == .queued)
    }

    private func accepted(_ generation: GatewayProfile.Generation = .june, uptimeMs: Int64? = 1_000_000) -> World {
        var world = World()
        world.online(generation, uptimeMs: uptimeMs)
        world.enqueue("a")
        world.acknowledge("a")
        world.offline()
        world.pass(30_000)
        return world
    }

    @Test func `an accepted entry stays accepted while the link is lost, and when the same gateway is back`() {
        var world = accepted()
        #expect(world.state("a") == .accepted)
        world.online(uptimeMs: 1_030_000)
        #expect(world.state("a") == .accepted)
        #expect(world.searches.count == 1)
        world.report(SearchReport(isComplete: true))
        #expect(world.state("a") == .accepted)
        #expect(world.sent == ["a"])
    }

    @Test(arguments: [5_000, 1_000_500] as [Int64])
    func `an entry accepted by another gateway is in doubt and searched for at once`(uptimeMs: Int64) {
        var world = accepted()
        world.online(uptimeMs: uptimeMs)
        #expect(world.state("a") == .unconfirmed)
        #expect(world.searches.count == 1)
    }

    /// The last one is older than the one that accepted the entry can be.
    @Test(arguments: [nil, 5_000_000] as [Int64?])
    func `an entry accepted by what may be another gateway is searched for at once, and in doubt a minute later`(
        uptimeMs: Int64?
    ) {
        var world = accepted()
        world.online(uptimeMs: uptimeMs)
        #expect(world.state("a") == .accepted)
        #expect(world.searches.count == 1)
        for _ in 0..<60 {
            if world.searches.count > world.reported { world.report(SearchReport(isComplete: true)) }
            #expect(world.state("a") == .accepted)
            world.pass(1_000)
        }
        world.report(SearchReport(isComplete: true))
        #expect(world.state("a") == .unconfirmed)
    }

    @Test func `an entry accepted before a restart of ours is judged by the first gateway that answers`() {
        for (uptime, state) in [(1_030_000, .accepted), (5_000, .unconfirmed)] as [(Int64, OutboxState)] {
            for isEarly in [true, false] {
                var world = accepted()
                world.restart { if isEarly { $0.online(uptimeMs: uptime) } }
                if !isEarly {
                    #expect(world.state("a") == .accepted)
                    world.online(uptimeMs: uptime)
                }
                #expect(world.state("a") == state)
                #expect(world.searches.count == 1)
            }
        }
    }

    @Test func `a clock that was set says nothing about the gateway`() {
        for jump in [-3_600_000, 3_600_000] as [Int64] {
            var world = accepted()
            world.now.wallMs += jump
            world.online(uptimeMs: 1_030_000)
            #expect(world.state("a") == .accepted)
            #expect(world.sent == ["a"])
        }
    }

    /// A release of that time answers messages that come within milliseconds after a run behind later ones.
    @Test func `a session rests after its run, and after the link was opened, where the gateway needs it`() {
        var world = World()
        world.enqueue("a")
        world.online(.april)
        world.pass(499)
        #expect(world.sent.isEmpty)
        world.pass(1)
        world.acknowledge("a")
        world.run("a", .active)
        world.enqueue("b")
        world.enqueue("x", session: "other")
        #expect(world.sent == ["a", "x"])
        world.pass(1_000)
        world.run("a", .ended)
        world.pass(499)
        #expect(world.sent == ["a", "x"])
        world.pass(1)
        #expect(world.sent == ["a", "x", "b"])
    }

    /// Killed together within a second of their start, as with `serve --demo`.
    @Test func `an entry of a Ladle and a gateway that died young is in doubt at once`() {
        var world = World()
        world.online(uptimeMs: 50)
        world.enqueue("a")
        world.acknowledge("a")
        let start = GatewayProcess(
            ageMs: 50,
            gatewayTime: Timestamp(milliseconds: world.now.wallMs),
            monotonicMs: world.now.monotonicMs,
            openingMs: 20
        )
        world.pass(300)
        world.restart()
        world.online(uptimeMs: 50, earlier: start)
        #expect(world.state("a") == .unconfirmed)
        #expect(world.searches.count == 1)
    }

    @Test func `on protocol 3 the session of an accepted message is busy, also after a restart of ours`() {
        for restarts in [false, true] {
            var world = accepted(.march)
            if restarts { world.restart() }
            world.enqueue("b")
            world.online(.march, uptimeMs: 1_030_000)
            #expect(world.sent == ["a"])
            world.report(SearchReport(proof: .textMatch, isComplete: true))
            #expect(world.state("a") == .delivered)
            #expect(world.sent == ["a"])
            world.run("a", .ended)
            #expect(world.sent == ["a", "b"])
        }
    }
}
