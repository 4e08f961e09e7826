import Basics
import Ledger
import Outbox
import Testing

struct `Before what waits has been read` {
    @Test func `a new entry does not overtake it`() {
        var world = World()
        world.enqueue("a")
        world.restart { world in
            world.online()
            world.enqueue("b")
            #expect(world.dispatches.isEmpty)
        }
        world.finish("a")
        #expect(world.sent == ["a", "b"])
        #expect(world.violations.isEmpty)
    }

    @Test func `a link that came meanwhile brings forward what waits for one`() {
        var world = World.counting()
        world.offline()
        world.enqueue("a")
        world.pass(30_000)
        #expect(world.state("a") == .retrying)
        world.restart { $0.online() }
        #expect(world.sent == ["a"])
    }

    @Test func `a run that ends meanwhile does not hold up its session afterwards`() {
        var world = World()
        world.online(.march)
        world.enqueue("a")
        world.acknowledge("a")
        world.enqueue("b")
        world.restart { world in
            world.online(.march)
            world.run("a", .ended)
        }
        #expect(world.sent == ["a", "b"])
    }

    @Test func `a command waits for it, and is refused once that has failed`() {
        var world = World()
        world.enqueue("a")
        let refusal = Result<OutboxEntry, OutboxRefusal>.failure(.storage(.unavailable("bad sector")))
        world.restart { world in
            world.send(.cancel(id: "a", force: false, CommandToken(1)))
            #expect(world.answers.isEmpty)
            world.send(.loadFailed(detail: "bad sector"))
            #expect(world.answers[CommandToken(1)] == refusal)
            world.send(.retry(id: "a", expectedVersion: nil, CommandToken(2)))
            #expect(world.answers[CommandToken(2)] == refusal)
            #expect(world.dispatcher.blockedReason(session: "main")?.contains("bad sector") == true)
        }
        #expect(world.dispatcher.blockedReason(session: "main") == "connecting to the gateway")
        world.send(.cancel(id: "a", force: false, CommandToken(3)))
        #expect(world.state("a") == .cancelled)
    }

    @Test func `a session that was reset meanwhile does not get what was meant for the former one`() {
        var world = World()
        world.enqueue("a")
        world.restart { $0.send(.routeChanged(session: "main", detail: "reset")) }
        world.online()
        #expect(world.state("a") == .failed)
        #expect(world.dispatches.isEmpty)
    }

    @Test func `only so much is kept, and what was not is read with the rest, in order`() {
        var world = World()
        let name = String(repeating: "s", count: 10_000)
        world.restart { world in
            for number in 0..<1_000 { world.enqueue("e\(number)", session: "\(number % 4)" + name, text: "hello") }
            world.send(.cancel(id: "e1", force: false, CommandToken(1)))
        }
        #expect(world.loads == 1)
        #expect(world.answers[CommandToken(1)] != nil, "a command is answered all the same")
        #expect(world.dispatcher.count == 1_000)
        world.online()
        for number in 0..<8 { world.finish("e\(number)") }
        #expect(world.sent.filter { Int($0.dropFirst()).map { $0 % 4 == 1 } ?? false } == ["e1", "e5", "e9"])
        #expect(world.violations.isEmpty)
    }

    @Test func `years of signs of life from the gateway take no more memory than the runs they are of`() {
        var world = World()
        world.enqueue("a")
        world.restart { world in
            world.online()
            for number in 0..<5_000 {
                world.run("run-\(number)", .active)
                world.send(.taken(key: "key-\(number)"))
                world.send(.evidence(key: "key-\(number)", .history))
                world.run("run-\(number)", .ended)
            }
            #expect(world.loads == 0)
        }
        #expect(world.sent == ["a"])
    }
}
