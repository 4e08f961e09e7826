import Outbox
import Testing

struct `The link` {
    @Test func `a reconnect makes heads due at once that only lacked a link`() {
        var world = World()
        world.offline()
        world.enqueue("a")
        world.enqueue("b")
        world.pass(80_000)
        #expect(world.disk["a"]?.attemptCount == 5)
        world.online()
        #expect(world.sent == ["a"])
        world.acknowledge("a")
        #expect(world.sent == ["a", "b"])
    }

    @Test func `the attempt a reconnect brought forward is not counted when it cannot be written either`() {
        var world = World()
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
        var world = World()
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
        #expect(world.dispatcher.blockedReason == "waiting for approval")
        world.pass(24 * 3_600_000)
        #expect(world.disk["a"]?.attemptCount == 0)
        #expect(world.state("a") == .queued)
        world.online()
        #expect(world.sent == ["a"])
        #expect(world.dispatcher.blockedReason == nil)
    }

    @Test func `with offline hold entries wait for the link up to their expiry`() {
        var policy = OutboxPolicy()
        policy.offline = .hold
        var world = World(policy)
        world.offline()
        world.enqueue("a")
        world.pass(48 * 3_600_000 - 1_000)
        #expect(world.disk["a"]?.attemptCount == 0)
        #expect(world.dispatcher.blockedReason?.contains("offline") == true)
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

    @Test func `losing the link casts doubt on what was accepted and not yet seen`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.acknowledge("a")
        world.offline()
        #expect(world.state("a") == .unconfirmed)
    }
}
