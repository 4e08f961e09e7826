import Ledger
import Outbox
import Testing

struct `Order` {
    @Test func `in a session is first in, first out with one on the wire`() {
        var world = World()
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("c")
        world.online()
        #expect(world.sent == ["a"])
        world.acknowledge("a")
        #expect(world.sent == ["a", "b"])
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "b")
        #expect(world.sent == ["a", "b"], "a retrying head blocks")
        world.pass(1_000)
        world.acknowledge("b")
        #expect(world.sent == ["a", "b", "b", "c"])
        #expect(world.violations.isEmpty)
    }

    @Test func `an unconfirmed head blocks its session and no other`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("x", session: "other")
        world.answer(.noAnswer(detail: "timeout"), to: "a")
        #expect(world.state("a") == .unconfirmed)
        #expect(world.sent == ["a", "x"])
    }

    @Test func `with ordering strict the next one waits for delivery`() {
        var policy = OutboxPolicy()
        policy.ordering = .strict
        var world = World(policy)
        world.online()
        world.enqueue("a")
        world.enqueue("b")
        world.acknowledge("a")
        #expect(world.sent == ["a"])
        world.run("a", .active)
        world.send(.taken(key: "a"))
        #expect(world.sent == ["a"])
        world.send(.evidence(key: "a:user", .messageEvent))
        #expect(world.sent == ["a", "b"])
    }

    @Test func `where an acknowledged message may still be refused, the next one waits for its delivery`() {
        var world = World()
        world.online(version: "2026.6.11")
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("x", session: "other")
        world.acknowledge("a")
        #expect(world.sent == ["a", "x"])
        let fault = OutboxFault(code: "SESSION_CONFLICT", detail: "conflicted")
        world.send(.refusedByRun(key: "a", fault, retryAfterMs: 1_000))
        world.pass(1_000)
        world.report(SearchReport(isComplete: true))
        world.acknowledge("a")
        #expect(world.sent == ["a", "x", "a"])
        world.send(.evidence(key: "a-r2:user", .messageEvent))
        #expect(world.sent == ["a", "x", "a"], "behind a run the gateway would refuse the next one, too")
        world.run("a-r2", .ended)
        #expect(world.sent == ["a", "x", "a", "b"])
        #expect(world.violations == [])
    }

    @Test func `a late refusal is waited for ten seconds, and not behind a run that goes on`() {
        for (isBusy, sent) in [(false, ["a"]), (true, ["a", "b"])] {
            var world = World()
            world.online(version: "2026.6.11")
            if isBusy { world.run("foreign", .active) }
            world.enqueue("a")
            world.enqueue("b")
            world.acknowledge("a")
            world.pass(9_999)
            #expect(world.sent == sent)
            world.pass(1)
            #expect(world.sent == ["a", "b"])
        }
    }

    @Test func `while a gateway refuses runs, a session's messages go one at a time`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.acknowledge("a")
        let fault = OutboxFault(code: "SESSION_CONFLICT", detail: "conflicted")
        world.send(.refusedByRun(key: "a", fault, retryAfterMs: 1_000))
        for id in ["b", "c"] { world.enqueue(id, session: "other") }
        world.acknowledge("b")
        #expect(world.sent == ["a", "b"])
        world.send(.evidence(key: "b:user", .messageEvent))
        #expect(world.sent == ["a", "b"], "its run is under way")
        world.run("b", .ended, session: "other")
        #expect(world.sent == ["a", "b", "c"])
        world.send(.bringForward(faultCode: "SESSION_CONFLICT"))
        for search in world.searches { world.send(.searched(search.id, SearchReport(isComplete: true))) }
        world.acknowledge("a")
        world.enqueue("d")
        world.send(.evidence(key: "a-r2:user", .messageEvent))
        #expect(world.sent == ["a", "b", "c", "a"], "also after a cure")
        world.run("a-r2", .ended)
        #expect(world.sent == ["a", "b", "c", "a", "d"])
    }

    @Test func `a gateway that has run all it refused is trusted again`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.acknowledge("a")
        let fault = OutboxFault(code: "SESSION_CONFLICT", detail: "conflicted")
        world.send(.refusedByRun(key: "a", fault, retryAfterMs: 1_000))
        world.pass(1_000)
        world.report(SearchReport(isComplete: true))
        world.acknowledge("a")
        world.send(.evidence(key: "a-r2:user", .messageEvent))
        for id in ["b", "c"] { world.enqueue(id) }
        world.acknowledge("b")
        #expect(world.sent == ["a", "a", "b", "c"])
    }

    /// 2026.6.11 takes a message without an answer into the prompt of the next one, and then nobody answers it.
    @Test func `behind a restart a message waits for the run that the gateway may go on with`() {
        for end in [RunPhase.ended, .continued(as: "own"), nil] {
            var world = World()
            world.online()
            world.enqueue("a")
            world.acknowledge("a")
            world.run("a", .active)
            world.offline()
            world.enqueue("b")
            world.online(uptimeMs: 100)
            world.report(SearchReport(proof: .history, isComplete: true))
            #expect(world.state("a") == .delivered)
            #expect(world.sent == ["a"])
            world.pass(74_999)
            #expect(world.sent == ["a"])
            if let end { world.run("a", end) } else { world.pass(1) }
            #expect(world.sent == ["a", "b"])
            #expect(world.violations == [])
        }
    }

    @Test func `a message waits for a run that a restart interrupted, also one that was delivered before`() {
        var world = World()
        world.run("elsewhere", .interrupted)
        world.online()
        world.enqueue("a")
        #expect(world.sent == [])
        world.run("elsewhere", .active)
        world.enqueue("b")
        #expect(world.sent == ["a"], "its run goes on, and the gateway puts messages behind it")
    }

    @Test func `a message whose run has begun is refused no more`() {
        var world = World()
        world.online(version: "2026.6.11")
        world.enqueue("a")
        world.enqueue("b")
        world.acknowledge("a")
        #expect(world.sent == ["a"])
        world.run("a", .active)
        #expect(world.sent == ["a", "b"])
    }

    @Test func `at most four sessions are on the wire, the fifth follows when one is free`() {
        var world = World()
        world.online()
        for index in 0..<6 { world.enqueue("e\(index)", session: "s\(index)") }
        #expect(world.sent == ["e0", "e1", "e2", "e3"])
        world.acknowledge("e2")
        #expect(world.sent == ["e0", "e1", "e2", "e3", "e4"])
        // The next in line is gone when a place becomes free, so the place goes to the one behind.
        world.enqueue("e6", session: "s6")
        world.send(.cancel(id: "e5", force: false, CommandToken(1)))
        world.acknowledge("e0")
        #expect(world.sent.last == "e6")
    }

    @Test func `an abort overtakes what waits and is not held by the cap`() {
        var world = World()
        world.online()
        for index in 0..<5 { world.enqueue("e\(index)", session: "s\(index)") }
        world.enqueue("later", session: "s4")
        world.enqueue(.sample("stop", kind: .abort, session: "s4", text: nil, at: world.now.wallMs))
        #expect(world.sent.last == "stop")
        world.acknowledge("stop")
        #expect(world.state("stop") == .delivered)
        #expect(world.disk["stop"]?.proof == .answer)
    }

    @Test func `an abort goes first when the link is back`() {
        var world = World()
        world.offline()
        for session in ["a", "b", "z"] { world.enqueue("message \(session)", session: session) }
        world.enqueue(.sample("abort", kind: .abort, session: "z", text: nil, at: world.now.wallMs))
        world.online()
        #expect(world.sent.first == "abort")
        #expect(world.sent.count == 4)
    }

    @Test func `of waiting commands with one coalescing key only the newest is sent`() {
        var world = World()
        world.offline()
        world.send(.link(.connecting))
        for id in ["m1", "m2", "m3"] {
            world.enqueue(.sample(id, kind: .abort, text: nil, at: world.now.wallMs, coalescing: "abort run-1"))
        }
        world.enqueue(.sample("t", kind: .abort, text: nil, at: world.now.wallMs, coalescing: "abort run-2"))
        world.online()
        world.acknowledge("m3")
        #expect(world.sent == ["m3", "t"])
        #expect(world.state("m1") == .cancelled)
        #expect(world.disk["m1"]?.fault?.code == "SUPERSEDED")
    }

    @Test func `an entry for later holds up nobody and goes when its time comes`() {
        var world = World()
        world.online()
        world.enqueue(.sample("late", at: world.now.wallMs, notBefore: world.now.wallMs + 3_600_000))
        world.enqueue("now")
        #expect(world.sent == ["now"])
        world.acknowledge("now")
        world.pass(3_599_999)
        #expect(world.sent == ["now"])
        world.pass(1)
        #expect(world.sent == ["now", "late"])
    }

    @Test func `an older entry that comes late waits for the one on the wire`() {
        var world = World()
        world.online()
        world.enqueue(.sample("later", at: world.now.wallMs, notBefore: world.now.wallMs + 1_000))
        world.enqueue("failed")
        world.answer(.rejected(GatewayRejection(code: "NOT_FOUND", message: "no")), to: "failed")
        world.enqueue("now")
        world.send(.retry(id: "failed", expectedVersion: nil, CommandToken(1)))
        world.pass(2_000)
        #expect(world.sent == ["failed", "now"])
        world.acknowledge("now")
        #expect(world.sent == ["failed", "now", "later"])
        world.acknowledge("later")
        #expect(world.sent == ["failed", "now", "later", "failed"])
    }

    @Test func `an entry in doubt is not repeated beside an older one on the wire`() {
        var world = World()
        world.online()
        world.enqueue("failed")
        world.answer(.rejected(GatewayRejection(code: "NOT_FOUND", message: "no")), to: "failed")
        world.enqueue("doubt")
        world.answer(.noAnswer(detail: "timeout"), to: "doubt")
        world.send(.retry(id: "failed", expectedVersion: nil, CommandToken(1)))
        world.report(SearchReport(isComplete: true))
        #expect(world.sent == ["failed", "doubt", "failed"])
        world.acknowledge("failed")
        world.pass(10_000)
        world.report(SearchReport(isComplete: true))
        world.pass(60_000)
        #expect(world.sent == ["failed", "doubt", "failed", "doubt"])
    }

    @Test func `a time of day is the wall clock's, also when that was set forward`() {
        var world = World()
        world.online()
        world.enqueue(.sample("late", at: world.now.wallMs, notBefore: world.now.wallMs + 3_600_000))
        world.now.wallMs += 3_600_000
        world.pass(60_000)
        #expect(world.sent == ["late"])
    }

    @Test func `on protocol 3 the next entry waits until the session's run has ended`() {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("x", session: "other")
        world.acknowledge("a")
        world.run("a", .active)
        world.send(.evidence(key: "a", .textMatch))
        #expect(world.state("a") == .delivered)
        #expect(world.sent == ["a", "x"])
        world.run("a", .ended)
        #expect(world.sent == ["a", "x", "b"])
    }

    @Test func `on protocol 3 a run of somebody else's is waited for too, though not for ever`() {
        var world = World()
        world.online(.march)
        world.run("foreign", .active)
        world.enqueue("a")
        #expect(world.sent.isEmpty)
        world.pass(20_000)
        world.run("foreign", .active)
        world.pass(29_999)
        #expect(world.sent.isEmpty)
        world.pass(2)
        #expect(world.sent == ["a"])
    }

    @Test func `on protocol 3 a run that ends before its acknowledgement is on disk does not block`() {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.enqueue("b")
        world.holdsWrites = true
        world.acknowledge("a")
        world.run("a", .active)
        world.run("a", .ended)
        world.holdsWrites = false
        while !world.heldWrites.isEmpty { world.releaseWrite() }
        #expect(world.state("a") == .accepted)
        #expect(world.sent == ["a", "b"])
    }

    @Test func `on protocol 3 the late end of a refused run does not free the session for what is behind its message`()
    {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.acknowledge("a")
        let fault = OutboxFault(code: "SESSION_CONFLICT", detail: "conflicted")
        world.send(.refusedByRun(key: "a", fault, retryAfterMs: 1_000))
        world.pass(1_000)
        world.report(SearchReport(isComplete: true))
        world.run("a", .ended)
        world.acknowledge("a")
        world.enqueue("b")
        #expect(world.dispatches.map(\.attempt.key) == ["a", "a-r2"])
        world.send(.evidence(key: "a-r2", .runEnd))
        #expect(world.sent == ["a", "a"])
        world.run("a-r2", .ended)
        #expect(world.sent == ["a", "a", "b"])
    }

    /// Another client's run began while ours was on its way.
    private func deferred() -> World {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.run("foreign", .active)
        world.acknowledge("a")
        world.run("a", .deferred)
        return world
    }

    @Test func `a busy send on protocol 3 takes the id of the run that answers it`() {
        var world = deferred()
        #expect(world.state("a") == .accepted)
        #expect(world.disk["a"]?.runID == "a")
        world.run("foreign", .ended)
        world.run("a", .continued(as: "answer"))
        world.run("answer", .active)
        #expect(world.disk["a"]?.runID == "answer")
        #expect(world.history["a"] == [.queued, .sending, .accepted, .delivered])
        #expect(world.disk["a"]?.proof == .history)
        #expect(world.dispatcher.count == 0)
    }

    @Test func `a busy send whose row is found before its answer takes the answer's id all the same`() {
        var world = deferred()
        world.send(.evidence(key: "a", .textMatch))
        #expect(world.state("a") == .delivered)
        world.run("a", .continued(as: "answer"))
        #expect(world.disk["a"]?.runID == "answer")
        #expect(world.disk["a"]?.proof == .textMatch)
        #expect(world.dispatcher.count == 0)
    }

    @Test func `an entry behind a busy send on protocol 3 waits for the run that answers it, and no longer`() {
        var world = deferred()
        world.enqueue("b")
        world.run("foreign", .ended)
        #expect(world.sent == ["a"])
        world.run("a", .continued(as: "answer"))
        world.run("answer", .active)
        #expect(world.sent == ["a"])
        world.run("answer", .ended)
        #expect(world.sent == ["a", "b"])
    }

    @Test func `a busy send that is answered before its delivery is on disk takes the answer's id there`() {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.holdsWrites = true
        world.acknowledge("a")
        world.run("a", .deferred)
        world.run("a", .continued(as: "answer"))
        world.holdsWrites = false
        while !world.heldWrites.isEmpty { world.releaseWrite() }
        #expect(world.history["a"] == [.queued, .sending, .accepted, .delivered])
        #expect(world.disk["a"]?.runID == "answer")
        #expect(world.dispatcher.count == 0)
    }

    @Test func `a busy send whose run ends by itself is waited for no longer`() {
        var world = deferred()
        world.enqueue("b")
        world.run("foreign", .ended)
        world.run("a", .ended)
        #expect(world.sent == ["a", "b"])
        world.send(.evidence(key: "a", .runEnd))
        #expect(world.dispatcher.count == 1)
    }

    @Test func `a busy send that was taken back is forgotten when its answer comes`() {
        var world = World()
        world.online(.march, uptimeMs: 1_000_000)
        world.enqueue("a")
        world.acknowledge("a")
        world.run("a", .deferred)
        world.offline()
        world.online(.march, uptimeMs: 5_000)
        world.send(.cancel(id: "a", force: true, CommandToken(1)))
        #expect(world.state("a") == .cancelled)
        #expect(world.dispatcher.count == 1)
        world.run("a", .continued(as: "gateway-run"))
        #expect(world.dispatcher.count == 0)
    }

    @Test func `a busy send that nobody answers is kept and waited for while its session is not silent`() {
        var world = deferred()
        world.enqueue("b")
        world.pass(29_999)
        #expect(world.sent == ["a"])
        #expect(world.dispatcher.count == 2)
        world.pass(2)
        #expect(world.sent == ["a", "b"])
        #expect(world.state("a") == .accepted)
    }

    @Test func `a busy send is kept as long as its session is heard of`() {
        var world = deferred()
        for _ in 0..<60 {
            world.pass(20_000)
            world.run("foreign", .active)
            world.run("a", .deferred)
        }
        world.enqueue("b")
        world.run("foreign", .ended)
        world.pass(20_000)
        #expect(world.sent == ["a"])
        world.run("a", .continued(as: "answer"))
        #expect(world.disk["a"]?.runID == "answer")
    }

    @Test func `on protocol 3 what runs is told before the link is, and waited for`() {
        var world = deferred()
        world.offline()
        world.enqueue("b")
        world.run("foreign", .active)
        world.run("a", .deferred)
        world.online(.march)
        world.run("foreign", .ended)
        #expect(world.sent == ["a"])
        world.run("a", .continued(as: "answer"))
        #expect(world.disk["a"]?.runID == "answer")
        world.run("answer", .ended)
        #expect(world.sent == ["a", "b"])
    }

    @Test func `on protocol 4 the next goes once the one before is accepted`() {
        var world = World()
        world.online(.june)
        world.run("foreign", .active)
        world.enqueue("a")
        world.enqueue("b")
        world.acknowledge("a")
        #expect(world.sent == ["a", "b"])
    }
}
