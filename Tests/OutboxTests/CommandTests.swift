import Basics
import Outbox
import Testing

struct `A person's command` {
    @Test(arguments: [OutboxState.queued, .retrying, .failed, .expired])
    func `cancels what is not with the gateway`(state: OutboxState) throws {
        let change = try OutboxCommand.cancel(force: false).change(of: .sample().state(state), now: time(2_000_000))
        #expect(change?.entry.state == .cancelled)
        #expect(change?.entry.version == 2)
    }

    @Test(arguments: [OutboxState.sending, .accepted, .delivered])
    func `cannot cancel what is with the gateway`(state: OutboxState) {
        for force in [false, true] {
            #expect(throws: OutboxRefusal.alreadyDispatched(state)) {
                try OutboxCommand.cancel(force: force).change(of: .sample().state(state), now: time(2_000_000))
            }
        }
    }

    @Test func `forgets an unconfirmed entry only with force`() throws {
        let entry = OutboxEntry.sample().state(.unconfirmed)
        #expect(throws: OutboxRefusal.needsForce) {
            try OutboxCommand.cancel(force: false).change(of: entry, now: time(1))
        }
        #expect(try OutboxCommand.cancel(force: true).change(of: entry, now: time(1))?.entry.state == .cancelled)
    }

    /// A person sent it again while the gateway was away, and nobody knows whether it had arrived before.
    @Test func `forgets a retried entry that was in doubt only with force`() throws {
        var doubtful = OutboxEntry.sample().state(.unconfirmed)
        doubtful.firstDispatchAt = time(1)
        let retried = try #require(try OutboxCommand.retry.change(of: doubtful, now: time(2))).entry
        #expect(throws: OutboxRefusal.needsForce) {
            try OutboxCommand.cancel(force: false).change(of: retried, now: time(3))
        }
        #expect(try OutboxCommand.cancel(force: true).change(of: retried, now: time(3))?.entry.state == .cancelled)
    }

    @Test(arguments: OutboxState.allCases)
    func `that means another version of the entry is refused, whatever its state`(state: OutboxState) {
        let entry = OutboxEntry.sample().state(state)
        #expect(throws: OutboxRefusal.staleVersion(current: entry.version)) {
            try OutboxCommand.cancel(force: true).change(of: entry, expectedVersion: entry.version + 1, now: time(1))
        }
    }

    @Test func `to cancel twice is answered the same`() throws {
        #expect(try OutboxCommand.cancel(force: false).change(of: .sample().state(.cancelled), now: time(1)) == nil)
    }

    @Test func `to cancel while the dispatch is being written is refused once it is out`() {
        var world = World()
        world.enqueue("a")
        world.holdsWrites = true
        world.online()
        world.send(.cancel(id: "a", force: false, CommandToken(7)))
        #expect(world.answers.isEmpty)
        world.holdsWrites = false
        world.releaseWrite()
        #expect(world.answers[CommandToken(7)] == .failure(.alreadyDispatched(.sending)))
        #expect(world.sent == ["a"])
    }

    @Test func `to cancel or retry while its last state is being written is answered by that state`() {
        for isRetry in [false, true] {
            var world = World()
            world.enqueue("a")
            world.online()
            world.holdsWrites = true
            world.send(.evidence(key: "a", .runEnd))
            let token = CommandToken(7)
            world.send(
                isRetry ? .retry(id: "a", expectedVersion: nil, token) : .cancel(id: "a", force: true, token)
            )
            #expect(world.answers.isEmpty)
            world.releaseWrite()
            #expect(world.state("a") == .delivered)
            #expect(world.answers[token] == .failure(.alreadyDispatched(.delivered)))
        }
    }

    @Test func `to cancel while the disk takes nothing is refused at once`() {
        var world = World()
        world.enqueue("a")
        world.online()
        world.holdsWrites = true
        world.send(.evidence(key: "a", .runEnd))
        world.send(.cancel(id: "a", force: false, CommandToken(7)))
        world.storageProblem = .storageFull
        world.releaseWrite()
        #expect(world.answers[CommandToken(7)] == .failure(.storage(.storageFull)))
    }

    @Test func `is answered only when it is on disk`() {
        var world = World()
        world.enqueue("a")
        world.holdsWrites = true
        world.send(.cancel(id: "a", force: false, CommandToken(1)))
        #expect(world.answers.isEmpty)
        world.releaseWrite()
        guard case .success(let entry) = world.answers[CommandToken(1)] else {
            Issue.record("no answer")
            return
        }
        #expect(entry.state == .cancelled)
        #expect(world.dispatcher.count == 0)
    }

    @Test func `to retry starts the count anew, with the version the caller saw`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.answer(.rejected(GatewayRejection(code: "INVALID_REQUEST", message: "x")), to: "a")
        world.send(.retry(id: "a", expectedVersion: 1, CommandToken(1)))
        #expect(world.answers[CommandToken(1)] == .failure(.staleVersion(current: 3)))
        world.send(.retry(id: "a", expectedVersion: 3, CommandToken(2)))
        #expect(world.sent == ["a", "a"])
        #expect(world.dispatches.map(\.attempt.key) == ["a", "a-r2"], "a refusal is remembered under the old key")
        #expect(world.disk["a"]?.attemptCount == 1)
        #expect(world.attempts["a"]?.count == 1, "what happened before stays readable")
    }

    @Test func `to retry after doubt keeps the key`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.answer(.noAnswer(detail: "x"), to: "a")
        world.send(.retry(id: "a", expectedVersion: nil, CommandToken(1)))
        #expect(world.dispatches.map(\.attempt.key) == ["a", "a"])
    }

    /// The run under the old key was told as ended, and nothing comes under the id of an ended run.
    @Test(arguments: [false, true])
    func `to retry a message that the gateway had lost gives it a new key`(isLost: Bool) throws {
        var entry = OutboxEntry.sample().state(.failed)
        entry.runID = entry.upstreamKey
        entry.firstDispatchAt = isLost ? nil : time(1)
        let retried = try #require(try OutboxCommand.retry.change(of: entry, now: time(2))).entry
        #expect((retried.upstreamKey != entry.upstreamKey) == isLost)
    }

    @Test func `to retry gives an expired entry its time again`() {
        let late = time(1_000_000 + 49 * 3_600_000)
        let message = OutboxEntry.sample().state(.expired)
        let retried = try? OutboxCommand.retry.change(of: message, now: late)
        #expect(retried?.entry.expiresAt == late.adding(milliseconds: 48 * 3_600_000))
    }

    @Test func `gives an entry the same time at every retry, also one that was for later`() throws {
        let hour: Int64 = 3_600_000
        for notBefore in [nil, 1_000_000 + 10 * hour] {
            let start = notBefore ?? 1_000_000
            var entry = OutboxEntry.sample(ttlMs: start - 1_000_000 + hour, notBefore: notBefore)
            for round in 1...4 {
                let now = time(start + Int64(round) * 20 * hour)
                entry = try #require(try OutboxCommand.retry.change(of: entry.state(.failed), now: now)).entry
                #expect(entry.expiresAt == now.adding(milliseconds: hour), "round \(round)")
            }
        }
        // Retried before its time has come: its lifetime starts at that time.
        let later = OutboxEntry.sample(ttlMs: 11 * hour, notBefore: 1_000_000 + 10 * hour).state(.failed)
        let again = try OutboxCommand.retry.change(of: later, now: time(1_000_000 + hour))
        #expect(again?.entry.expiresAt == time(1_000_000 + 11 * hour))
    }

    @Test func `for an entry that is not here is told so`() {
        var world = World()
        world.send(.cancel(id: "nobody", force: false, CommandToken(1)))
        #expect(world.answers[CommandToken(1)] == .failure(.notFound))
    }
}

struct `Expiry` {
    @Test func `ends an entry that could not be sent in its time, and it is never sent late`() {
        var world = World()
        world.send(.link(.blocked(reason: "pairing")))
        world.enqueue(.sample("a", at: world.now.wallMs, ttlMs: 90_000))
        world.pass(89_999)
        #expect(world.state("a") == .queued)
        world.pass(1)
        #expect(world.state("a") == .expired)
        world.online()
        #expect(world.dispatches.isEmpty)
    }

    @Test func `is checked at the moment of sending, whatever the timer did`() {
        var world = World()
        world.enqueue(.sample("a", at: world.now.wallMs, ttlMs: 90_000))
        world.now.wallMs += 90_000
        world.online()
        #expect(world.dispatches.isEmpty)
        #expect(world.state("a") == .expired)
    }

    @Test func `does not end an entry on the wire, but what comes of it`() {
        var world = World()
        world.online()
        world.enqueue(.sample("a", at: world.now.wallMs, ttlMs: 10_000))
        world.pass(20_000)
        #expect(world.state("a") == .sending)
        world.answer(.rejected(GatewayRejection(code: "UNAVAILABLE", message: "x")), to: "a")
        #expect(world.state("a") == .expired)
    }
}

struct `A restart` {
    @Test func `makes sending unconfirmed, never queued`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.restart()
        #expect(world.state("a") == .unconfirmed)
        #expect(world.attempts["a"]?.last?.outcome == .ambiguous)
        world.online(uptimeMs: 1_000_000)
        #expect(world.sent == ["a"])
        #expect(world.searches.count == 1)
    }

    @Test func `keeps attempts and due time of what waits`() {
        var world = World.counting()
        world.offline()
        world.enqueue("a")
        world.pass(5_000)
        let before = world.disk["a"]
        world.restart()
        #expect(world.disk["a"] == before)
        world.offline()
        world.pass(14_999)
        #expect(world.disk["a"]?.attemptCount == 3)
        world.pass(1)
        #expect(world.disk["a"]?.attemptCount == 4)
    }

    @Test func `lets nothing overtake what was left, and finds it, however late it is read`() {
        var world = World()
        world.offline()
        world.enqueue("a")
        world.enqueue("b")
        world.enqueue("c")
        world.restart { world in
            world.online()
            world.enqueue("d")
            world.send(.cancel(id: "b", force: false, CommandToken(1)))
            #expect(world.sent.isEmpty && world.answers.isEmpty)
        }
        for id in ["a", "c", "d"] { world.finish(id) }
        #expect(world.sent == ["a", "c", "d"])
        #expect(world.state("b") == .cancelled)
    }

    @Test func `with resume hold leaves messages to a person`() {
        var policy = OutboxPolicy()
        policy.resume = .hold
        var world = World(policy)
        world.enqueue("a")
        world.enqueue(.sample("stop", kind: .abort, text: nil, at: world.now.wallMs))
        world.restart()
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.fault?.code == "HELD_AFTER_RESTART")
        #expect(world.state("stop") == .queued)
    }

    @Test func `fails a kind this version does not know, and does not drop it`() {
        var world = World()
        world.enqueue(.sample("a", kind: OutboxKind(rawValue: "teleport"), at: world.now.wallMs))
        #expect(world.state("a") == .failed)
        #expect(world.disk["a"]?.fault?.code == "UNSUPPORTED_KIND")
    }

    @Test func `repeats an abort that was on its way`() {
        var world = World()
        world.online()
        world.enqueue(.sample("stop", kind: .abort, text: nil, at: world.now.wallMs))
        world.restart()
        #expect(world.state("stop") == .retrying)
    }
}

struct `The disk` {
    @Test func `has sending before anything goes out`() {
        var world = World()
        world.enqueue("a")
        world.holdsWrites = true
        world.online()
        #expect(world.dispatches.isEmpty)
        world.releaseWrite()
        #expect(world.sent == ["a"])
    }

    @Test func `that is full keeps everything back and loses nothing`() {
        var world = World()
        world.enqueue("a")
        world.storageProblem = .storageFull
        world.online()
        #expect(world.dispatches.isEmpty)
        #expect(world.state("a") == .queued)
        world.pass(30_000)
        #expect(world.dispatches.isEmpty)
        world.storageProblem = nil
        world.pass(30_000)
        #expect(world.sent == ["a"])
    }

    @Test func `that fails after the answer gets the result later`() {
        var world = World()
        world.online()
        world.enqueue("a")
        world.enqueue("b")
        world.storageProblem = .unavailable("input/output error")
        world.acknowledge("a")
        world.send(.evidence(key: "a", .runEnd))
        #expect(world.state("a") == .sending)
        #expect(world.sent == ["a"])
        world.storageProblem = nil
        world.pass(1_000)
        #expect(world.history["a"] == [.queued, .sending, .accepted, .delivered])
        world.run("a", .ended)
        #expect(world.sent == ["a", "b"])
        #expect(world.violations.isEmpty)
    }

    @Test func `that refuses a command says so to the person, and the entry is as before`() {
        var world = World()
        world.enqueue("a")
        world.storageProblem = .storageFull
        world.send(.cancel(id: "a", force: false, CommandToken(1)))
        #expect(world.answers[CommandToken(1)] == .failure(.storage(.storageFull)))
        world.storageProblem = nil
        world.online()
        world.pass(1_000)
        #expect(world.sent == ["a"])
    }

    @Test func `with another version of the row is believed`() {
        var world = World()
        world.enqueue("a")
        world.disk["a"]?.version = 9
        world.disk["a"]?.state = .cancelled
        world.online()
        #expect(world.dispatches.isEmpty)
        #expect(world.dispatcher.count == 0)
    }
}

struct `Ten thousand waiting entries` {
    @Test func `share one timer that rarely fires`() {
        var policy = OutboxPolicy()
        policy.offline = .hold
        var world = World(policy)
        world.offline()
        for index in 0..<10_000 { world.enqueue("e\(index)", session: "s\(index % 50)") }
        let arms = world.arms
        world.pass(3_600_000)
        // An hour: one look at the wall clock a minute.
        #expect(world.arms - arms <= 61)
        #expect(world.dispatches.isEmpty)
    }
}
