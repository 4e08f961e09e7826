import Outbox
import Testing

struct `The schedule` {
    @Test func `is 1, 4, 15, 60, 300 and 1800 seconds, and the seventh failure is the last`() {
        var world = World.counting()
        world.offline()
        let start = world.now.monotonicMs
        world.enqueue("a")
        var failures: [Int64] = []
        var seen = world.attempts["a"]?.count ?? 0
        if seen > 0 { failures.append(0) }
        // Second by second: nothing may happen a second early or late.
        for second in 1...2_400 as ClosedRange<Int64> {
            world.pass(1_000)
            let count = world.attempts["a"]?.count ?? 0
            if count > seen { failures.append(second) }
            seen = count
        }
        #expect(failures == [0, 1, 5, 20, 80, 380, 2_180])
        #expect(world.now.monotonicMs - start == 2_400_000)
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.attemptCount == 7)
        #expect(world.attempts["a"]?.map(\.delayMs) == [1_000, 4_000, 15_000, 60_000, 300_000, 1_800_000, nil])
        #expect(world.disk["a"]?.fault?.code == "GATEWAY_UNREACHABLE")
        #expect(world.dispatches.isEmpty)
        #expect(world.violations.isEmpty)
    }

    @Test func `holds to the second when the gateway itself refuses`() {
        var world = World()
        world.online()
        world.enqueue("a")
        for _ in 0..<6 {
            world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "busy")), to: "a")
            world.pass(1_800_000)
        }
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "busy")), to: "a")
        #expect(world.dispatches.count == 7)
        #expect(world.attempts["a"]?.map(\.delayMs) == [1_000, 4_000, 15_000, 60_000, 300_000, 1_800_000, nil])
        #expect(world.state("a") == .failed)
    }

    @Test(
        arguments: [
            (0, 1_000), (500, 1_000), (1_001, 1_001), (90_000, 90_000), (1_800_000, 1_800_000), (9_000_000, 1_800_000),
        ] as [(Int64, Int64)]
    )
    func `waits as long as the gateway asks when that is longer, up to half an hour`(asked: Int64, waits: Int64) {
        var world = World()
        world.online()
        world.enqueue("a")
        world.answer(.rejected(GatewayRejection(code: "RATE_LIMITED", message: "slow", retryAfterMs: asked)), to: "a")
        #expect(world.attempts["a"]?.last?.delayMs == waits)
        world.pass(waits - 1)
        #expect(world.dispatches.count == 1)
        world.pass(1)
        #expect(world.dispatches.count == 2)
    }

    @Test func `is not moved by a wall clock that jumps while the program runs`() {
        for jump in [-86_400_000, 86_400_000] as [Int64] {
            var world = World()
            world.online()
            world.enqueue(.sample("a", at: world.now.wallMs, ttlMs: 7 * 86_400_000))
            world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "a")
            world.now.wallMs += jump
            world.pass(999)
            #expect(world.dispatches.count == 1)
            world.pass(1)
            #expect(world.dispatches.count == 2, "jump \(jump)")
        }
    }

    @Test func `after a restart waits the rest, and never longer than the wait was`() {
        var world = World()
        world.online()
        world.enqueue("a")
        for _ in 0..<4 {
            world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "a")
            world.pass(60_000)
        }
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "a")
        #expect(world.attempts["a"]?.last?.delayMs == 300_000)
        var later = world
        later.pass(100_000)
        later.restart()
        later.online()
        let before = later.dispatches.count
        later.pass(199_999)
        #expect(later.dispatches.count == before)
        later.pass(1)
        #expect(later.dispatches.count == before + 1)
        // The clock was set back by a day while the program was away.
        var back = world
        back.now.wallMs -= 86_400_000
        back.restart()
        back.online()
        back.pass(1_800_000)
        #expect(back.dispatches.count == before + 1)
    }

    @Test func `jitter stays within a tenth and is off by default`() {
        var policy = OutboxPolicy()
        policy.jitter = 0.1
        policy.offline = .count
        var delays: Set<Int64> = []
        for seed in 0..<200 as Range<UInt64> {
            var world = World(policy)
            world.dispatcher = Dispatcher(policy: policy, seed: seed)
            world.send(.loaded([]))
            world.offline()
            world.enqueue("a")
            delays.insert(world.attempts["a"]?.last?.delayMs ?? 0)
        }
        #expect(delays.count > 50)
        #expect(delays.allSatisfy { (900...1_100).contains($0) })
    }
}
