import Basics
import Outbox
import Testing

struct `An entry that may have arrived and must not go out again` {
    @Test func `is not sent into a session that was reset since`() {
        var world = World.unanswered()
        world.offline()
        world.send(.routeChanged(session: "main", detail: "the session was reset"))
        world.pass(300_000)
        world.online(uptimeMs: 5_000)
        world.report(SearchReport(isComplete: true))
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.fault?.code == "TARGET_CHANGED")
        #expect(world.sent.filter { $0 == "a" } == ["a"])
        world.send(.retry(id: "a", expectedVersion: nil, CommandToken(1)))
        world.answer(.noAnswer(detail: "connection closed"), to: "a")
        world.report(SearchReport(isComplete: true))
        world.pass(1_000)
        #expect(world.sent.filter { $0 == "a" }.count == 3, "a person's word is for the session that is there")
    }

    /// The gateway's process that got it may still have it in memory.
    @Test func `stays unconfirmed in a session that was reset since, and is not repeated`() {
        var world = World.unanswered()
        world.offline()
        world.send(.routeChanged(session: "main", detail: "the session was reset"))
        world.pass(1_000)
        world.online(uptimeMs: 1_001_000)
        for _ in 0..<200 {
            if world.searches.count > world.reported { world.report(SearchReport(isComplete: true)) }
            world.pass(1_000)
        }
        #expect(world.state("a") == .unconfirmed)
        #expect(world.sent == ["a"])
    }

    @Test(arguments: [false, true])
    func `is not sent again once its run was to be stopped`(restarts: Bool) {
        var world = World.unanswered()
        world.offline()
        let key = OutboxEntry.abortKey(ofRun: "a")
        world.enqueue(.sample("stop", kind: .abort, text: nil, at: world.now.wallMs, coalescing: key))
        if restarts { world.restart() }
        world.pass(1_000)
        world.online(uptimeMs: 500)
        world.report(SearchReport(isComplete: true))
        #expect(world.state("a") == .cancelled)
        world.pass(600_000)
        #expect(world.sent.filter { $0 == "a" } == ["a"])
    }

    @Test func `that arrived is delivered, though its run was to be stopped`() {
        var world = World.unanswered()
        world.send(.stopped(run: "a"))
        world.send(.evidence(key: "a:user", .messageEvent))
        #expect(world.state("a") == .delivered)
    }

    @Test func `stays where it was taken, though its session was reset since`() {
        var world = World.unanswered()
        world.send(.routeChanged(session: "main", detail: "the session was reset"))
        world.send(.evidence(key: "a:user", .messageEvent))
        #expect(world.state("a") == .delivered)
    }

    @Test func `or was refused while its session was reset is not sent into the new one`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.send(.routeChanged(session: "main", detail: "the session was reset"))
        #expect(world.state("a") == .sending)
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "draining")), to: "a")
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.fault?.code == "TARGET_CHANGED")
        world.pass(60_000)
        #expect(world.sent == ["a"])
    }
}
