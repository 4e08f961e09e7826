import Basics
import Outbox
import Testing

/// The repeat under the same key, which a gateway that remembers the key answers without running the message again.
struct `An entry that may have arrived and may be repeated` {
    @Test func `is sent again under the same key while the same gateway surely remembers it`() {
        var world = World.unanswered()
        world.report(SearchReport(isComplete: true))
        #expect(world.sent == ["a", "a"])
        #expect(world.dispatches.last?.entry.isRepeatInDoubt == true)
        #expect(world.dispatches.last?.attempt.key == "a")
        world.answer(.acknowledged(.init(status: .inFlight)), to: "a")
        #expect(world.state("a") == .accepted)
        #expect(world.searches.count == 1)
    }

    @Test func `is accepted and looked for at once when its repeat is answered by ok or by the error of its run`() {
        for status in [AttemptOutcome.Acknowledgement.Status.finished, .failed] {
            var world = World.unanswered()
            world.report(SearchReport(isComplete: true))
            world.answer(.acknowledged(.init(status: status)), to: "a")
            #expect(world.state("a") == .accepted)
            world.pass(0)
            #expect(world.searches.count == 2)
            world.report(SearchReport(proof: .history, isComplete: true))
            #expect(world.state("a") == .delivered)
        }
    }

    /// The gateway answers a stop word like this. A failed run of a key that was never sent before proves nothing.
    @Test func `is delivered by an ok to its first dispatch`() {
        for (status, state) in [
            (.finished, .delivered), (.failed, .accepted),
        ] as [(AttemptOutcome.Acknowledgement.Status, OutboxState)] {
            var world = World()
            world.online()
            world.enqueue("a")
            world.answer(.acknowledged(.init(status: status)), to: "a")
            #expect(world.state("a") == state)
            #expect(world.disk["a"]?.proof == (state == .delivered ? .gatewayReceipt : nil))
        }
    }

    @Test func `is repeated once, not as often as the link comes and goes`() {
        var world = World.unanswered()
        world.report(SearchReport(isComplete: true))
        world.answer(.noAnswer(detail: "closed again"), to: "a")
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a", "a"])
    }

    @Test func `is left alone for a while when the gateway refuses its repeat`() {
        var world = World.unanswered()
        world.report(SearchReport(isComplete: false))
        for sends in 2...4 {
            #expect(world.sent == Array(repeating: "a", count: sends))
            let refusal = GatewayRejection(
                code: "UNAVAILABLE",
                message: "starting",
                retryable: true,
                retryAfterMs: 3_000
            )
            world.answer(.rejected(refusal), to: "a")
            #expect(world.searches.count == sends - 1)
            world.pass(2_500)
            #expect(world.searches.count == sends - 1)
            world.pass(60_000)
            world.report(SearchReport(isComplete: false))
        }
    }

    @Test func `is looked for again when the write of its repeat has failed`() {
        var world = World.unanswered()
        world.storageProblem = .storageFull
        world.report(SearchReport(isComplete: true))
        world.storageProblem = nil
        #expect(world.searches.count == 1)
        world.pass(60_000)
        #expect(world.searches.count == 2)
        world.report(SearchReport(isComplete: true))
        world.pass(60_000)
        #expect(world.sent == ["a", "a"])
    }

    @Test func `is looked for again when a search ended beside a write that failed`() {
        var world = World.unanswered()
        world.holdsWrites = true
        world.send(.cancel(id: "a", force: true, CommandToken(1)))
        world.report(SearchReport(isComplete: false))
        world.storageProblem = .storageFull
        world.holdsWrites = false
        world.releaseWrite()
        world.storageProblem = nil
        #expect(world.state("a") == .unconfirmed)
        world.pass(60_000)
        #expect(world.searches.count == 2)
    }

    @Test func `is not repeated unseen once the gateway has restarted`() {
        var world = World.unanswered()
        world.offline()
        world.pass(30_000)
        // Up for 5 s: another process.
        world.online(uptimeMs: 5_000)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
    }

    @Test func `is not repeated unseen when the gateway died of it soon after its start`() {
        var world = World()
        world.online(uptimeMs: 500)
        world.enqueue("a")
        world.answer(.noAnswer(detail: "gone"), to: "a")
        world.pass(5_000)
        world.online(uptimeMs: 2_000)
        world.report(SearchReport(isComplete: false))
        #expect(world.dispatches.count == 1)
    }

    /// A gateway may restart inside its process, or start twice within the time by which reported uptimes may be off.
    @Test(arguments: [1_700, 600] as [Int64])
    func `is repeated over a new connection only after a whole page`(uptimeMs: Int64) {
        var world = twice(uptimeMs)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
        world.pass(1_000)
        // Absent, it may go to either process: one knows its key, the other never had it.
        world.report(SearchReport(isComplete: true))
        #expect(world.sent == ["a", "a"])
    }

    /// A message goes out to a gateway that has just started, and a gateway is there again at once.
    private func twice(_ uptimeMs: Int64) -> World {
        var world = World()
        world.online(uptimeMs: 500)
        world.enqueue("a")
        world.answer(.noAnswer(detail: "gone"), to: "a")
        world.offline()
        world.pass(1_200)
        world.online(uptimeMs: uptimeMs)
        return world
    }

    @Test func `is asked for once and accepted by an acknowledgement that takes more than five minutes`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.enqueue("b")
        let busy = SearchReport(isComplete: true, hasActiveRun: true)
        for sends in 1...2 {
            #expect(world.sent == Array(repeating: "a", count: sends))
            world.pass(30_000)
            world.answer(.noAnswer(detail: "the gateway did not answer in time"), to: "a")
            world.report(busy)
        }
        var seen = world.searches.count
        for _ in 0..<300 {
            world.pass(1_000)
            guard world.searches.count > seen else { continue }
            seen = world.searches.count
            world.report(busy)
        }
        #expect(world.state("a") == .unconfirmed)
        #expect(world.sent == ["a", "a"])
        world.send(.outcome(world.dispatches[0].attempt, .acknowledged(.init(status: .started))))
        #expect(world.state("a") == .accepted)
        world.run("a", .ended)
        #expect(world.sent == ["a", "a", "b"])
        #expect(world.violations == [])
    }

    @Test func `is not repeated unseen when the window has passed`() {
        var world = World.unanswered()
        world.offline()
        world.pass(240_000)
        world.online(uptimeMs: 1_240_000)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
    }

    @Test func `is not repeated unseen when the window has passed and our clock was set back`() {
        var world = World.unanswered()
        world.offline()
        world.pass(290_000)
        world.now.wallMs -= 200_000
        world.online(uptimeMs: 1_290_000)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
    }

    @Test func `is not repeated unseen when nothing is known of the gateway's age`() {
        var world = World()
        world.online(uptimeMs: nil)
        world.enqueue("a")
        world.answer(.noAnswer(detail: "closed"), to: "a")
        world.offline()
        world.online(uptimeMs: nil)
        world.report(SearchReport(isComplete: false))
        #expect(world.sent == ["a"])
    }
}
