import Ledger
import Testing

@testable import Outbox

struct `Order` {
    @Test func `in a session is first in, first out with one on the wire`() {
        var world = World()
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("c")
        world.online()
        #expect(world.sent == ["a"])
        world.finish("a")
        #expect(world.sent == ["a", "b"])
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "b")
        #expect(world.sent == ["a", "b"], "a retrying head blocks")
        world.pass(1_000)
        world.finish("b")
        #expect(world.sent == ["a", "b", "b", "c"])
        #expect(world.violations.isEmpty)
    }

    @Test func `a message for the run at work passes those that wait for its end`() {
        var world = World()
        world.online(.autumn)
        world.run("theirs", .active)
        world.enqueue("a")
        world.enqueue(.sample("b", at: world.now.wallMs, mode: .sayNow))
        #expect(world.sent == ["b"])
        world.acknowledge("b")
        world.run("b", .deferred)
        world.send(.evidence(key: "b:user", .messageEvent, joined: "theirs"))
        #expect(world.state("b") == .delivered && world.disk["b"]?.joinedRun == "theirs")
        #expect(world.disk["b"]?.runID == nil, "it has no run of its own")
        world.pass(1_000)
        #expect(world.sent == ["b"])
        world.run("theirs", .ended)
        #expect(world.sent == ["b", "a"])
        #expect(world.violations.isEmpty)
    }

    @Test func `a search shows too that a run at work read the message`() {
        var world = World()
        world.online(.autumn)
        world.run("theirs", .active)
        world.enqueue(.sample("b", at: world.now.wallMs, mode: .sayNow))
        world.answer(.noAnswer(detail: "connection closed"), to: "b")
        var found = SearchReport(proof: .history, isComplete: true, hasActiveRun: true)
        found.row = OwnRow(isAnswered: true, joinedRun: "theirs")
        world.report(found)
        #expect(world.state("b") == .delivered && world.disk["b"]?.joinedRun == "theirs")
    }

    @Test(arguments: [GatewayProfile.Generation.june, .autumn])
    func `where no run can take it in, a message for the run at work is like any other`(
        release: GatewayProfile.Generation
    ) {
        var world = World()
        world.online(release)
        world.run("theirs", .active)
        if release == .autumn { world.send(.refusesQueueModes) }
        world.enqueue("a")
        world.enqueue(.sample("b", at: world.now.wallMs, mode: .sayNow))
        #expect(world.sent.isEmpty)
        world.run("theirs", .ended)
        #expect(world.sent == ["a"])
        world.finish("a")
        #expect(world.sent == ["a", "b"])
        world.finish("b")
        world.online(.autumn)
        world.enqueue(.sample("c", at: world.now.wallMs, mode: .sayNow))
        #expect(world.sent == ["a", "b", "c"], "no run is at work")
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
        world.run("a", .ended)
        #expect(world.sent == ["a", "b"])
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
            #expect(world.sent == (end == .continued(as: "own") ? ["a"] : ["a", "b"]), "its run goes on")
            world.run("own", .ended)
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
        #expect(world.sent == [], "its run goes on")
        world.run("elsewhere", .ended)
        #expect(world.sent == ["a"])
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
        world.finish("now")
        #expect(world.sent == ["failed", "now", "later"])
        world.finish("later")
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
        world.finish("failed")
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

    /// A message that waits inside the gateway cannot be stopped: it runs all the same, or breaks the run before it.
    @Test(arguments: GatewayProfile.Generation.allCases)
    func `the next message goes when the run of the one before has ended`(generation: GatewayProfile.Generation) {
        var world = World()
        world.online(generation)
        world.pass(500)
        world.enqueue("a")
        world.enqueue("b")
        world.acknowledge("a")
        world.run("a", .active)
        world.send(.evidence(key: "a", .history))
        world.pass(20_000)
        #expect(world.sent == ["a"])
        world.run("a", .ended)
        world.pass(500)
        #expect(world.sent == ["a", "b"])
    }
}
