import EventLoops
import Testing

@testable import Service

struct AgentListTests {
    private static let agents = #"{"defaultId":"main","mainKey":"main","agents":[{"id":"main"},{"id":"Home"}]}"#

    private func missing(_ agent: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws
        -> [[String]?]
    {
        var found: [[String]?] = []
        bench.services.agents.missing(agent, on: loop) { found.append($0) }
        try await bench.settle(on: loop)
        return found
    }

    @Test func `an agent that the gateway does not have is missing among those it has`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.next("agents.list", ok(Self.agents), ok(Self.agents))
            #expect(try await missing("kitchen", bench, on: loop) == [["main", "Home"]])
            #expect(try await missing("home", bench, on: loop) == [nil])
            #expect(bench.gateway.requests("agents.list").count == 1)
            #expect(try await missing("kitchen", bench, on: loop) == [["main", "Home"]])
            #expect(bench.gateway.requests("agents.list").count == 2)
        }
    }

    @Test func `a gateway of protocol 3 takes messages for any agent`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, on: loop)
            bench.gateway.next("agents.list", ok(Self.agents))
            #expect(try await missing("kitchen", bench, on: loop) == [nil])
            #expect(bench.gateway.requests("agents.list").isEmpty)
        }
    }

    @Test func `nothing is missing while the gateway cannot tell`() async throws {
        try await withServices { bench, loop in
            #expect(try await missing("kitchen", bench, on: loop) == [nil])
            try await bench.open(on: loop)
            bench.gateway.next("agents.list", refused("INVALID_REQUEST"), ok("{}"))
            #expect(try await missing("kitchen", bench, on: loop) == [nil])
            #expect(try await missing("kitchen", bench, on: loop) == [nil])
        }
    }

    @Test func `a message waits two seconds to learn of its agent, and is told once`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.silent = ["agents.list"]
            var found: [[String]?] = []
            bench.services.agents.missing("kitchen", on: loop) { found.append($0) }
            try await bench.advance(1999, on: loop)
            #expect(found.isEmpty)
            try await bench.advance(1, on: loop)
            #expect(found == [nil])
            bench.gateway.answer("agents.list", ok(Self.agents))
            try await bench.settle(on: loop)
            #expect(found == [nil])
        }
    }

    @Test func `a gateway that starts anew is asked anew`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.next("agents.list", ok(Self.agents), ok(#"{"defaultId":"main","agents":[{"id":"main"}]}"#))
            #expect(try await missing("home", bench, on: loop) == [nil])
            try await bench.drop(on: loop)
            try await bench.open(on: loop)
            #expect(try await missing("home", bench, on: loop) == [["main"]])
        }
    }
}
