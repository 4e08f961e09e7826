import EventLoops
import JSONBytes
import Testing

@testable import Service

struct SessionModelTests {
    private static func list(_ rows: String...) -> String { #"{"sessions":[\#(rows.joined(separator: ","))]}"# }
    private static let den =
        #"{"key":"agent:main:den","sessionId":"a","updatedAt":10,"model":"large","derivedTitle":"Hello"}"#

    private func keys(_ bench: ServiceBench, refresh: Bool = false, on loop: isolated EventLoop) async throws
        -> [String]
    {
        var keys: [String] = []
        bench.services.sessionModel.read(refresh: refresh, on: loop) { result in
            keys = (try? result.get())?.rows.map(\.key) ?? ["failed"]
        }
        try await bench.settle(on: loop)
        return keys
    }

    private func changed(_ bench: ServiceBench, _ members: String, on loop: isolated EventLoop) async throws {
        let row = #"{"sessionKey":"agent:main:den","sessionId":"a","updatedAt":1,\#(members)}"#
        try await bench.event("sessions.changed", row, on: loop)
    }

    private func lists(_ bench: ServiceBench) -> Int { bench.gateway.requests("sessions.list").count }

    @Test func `a warm read asks nobody, and events keep it true`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.next("sessions.list", ok(Self.list(Self.den)))
            #expect(try await keys(bench, on: loop) == ["agent:main:den"])
            for _ in 0..<10 { #expect(try await keys(bench, on: loop) == ["agent:main:den"]) }
            let event =
                #"{"sessionKey":"agent:main:den","phase":"end","session":{"key":"agent:main:den","sessionId":"a","updatedAt":20,"model":"small"}}"#
            try await bench.event("sessions.changed", event, on: loop)
            #expect(bench.services.sessionModel["agent:main:den"]?.model == "small")
            #expect(bench.services.sessionModel["agent:main:den"]?.title == "Hello")
            try await bench.event("sessions.changed", #"{"sessionKey":"agent:main:den","reason":"delete"}"#, on: loop)
            #expect(try await keys(bench, on: loop).isEmpty)
            #expect(lists(bench) == 1)
        }
    }

    @Test func `a gateway that stalls makes readers wait two seconds, unless they want nothing else`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: [], on: loop)
            bench.gateway.silent = ["sessions.list"]
            var answers: [SessionModel.List] = []
            let take: SessionModel.Completion = { if let list = try? $0.get() { answers.append(list) } }
            // Nothing is kept yet.
            bench.services.sessionModel.read(on: loop, completion: take)
            try await bench.advance(3_000, on: loop)
            #expect(answers.isEmpty)
            bench.gateway.answer("sessions.list", ok(Self.list(Self.den)))
            try await bench.settle(on: loop)
            #expect(answers.map(\.isLive) == [true])
            let asOf = loop.wallClock
            try await bench.advance(10_000, on: loop)
            bench.services.sessionModel.read(on: loop, completion: take)
            bench.services.sessionModel.read(refresh: true, on: loop, completion: take)
            try await bench.advance(1_999, on: loop)
            #expect(answers.count == 1)
            try await bench.advance(1, on: loop)
            #expect(answers.map(\.isLive) == [true, false])
            #expect(answers.last?.rows.map(\.key) == ["agent:main:den"])
            #expect(answers.last?.asOf == asOf)
            bench.gateway.answer("sessions.list", ok(Self.list()))
            try await bench.settle(on: loop)
            #expect(answers.map(\.isLive) == [true, false, true])
            #expect(answers.last?.rows.isEmpty == true)
        }
    }

    @Test func `a minute later, and where no events come after two seconds, it asks again`() async throws {
        for (methods, life) in [(["sessions.subscribe"], Int64(60_000)), ([], 2_000)] {
            try await withServices { bench, loop in
                try await bench.open(methods: methods, on: loop)
                bench.gateway.next("sessions.list", ok(Self.list()), ok(Self.list(Self.den)))
                #expect(try await keys(bench, on: loop).isEmpty)
                try await bench.advance(life - 1, on: loop)
                #expect(try await keys(bench, on: loop).isEmpty)
                try await bench.advance(1, on: loop)
                #expect(try await keys(bench, on: loop) == ["agent:main:den"])
                #expect(lists(bench) == 2)
            }
        }
    }

    @Test func `many readers at once are one call, and an event that comes meanwhile is not lost`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.silent = ["sessions.list"]
            var seen: [String?] = []
            for _ in 0..<5 {
                bench.services.sessionModel.read(on: loop) { seen.append((try? $0.get())?.rows.first?.model) }
            }
            try await bench.settle(on: loop)
            let event = #"{"sessionKey":"agent:main:den","sessionId":"a","updatedAt":20,"model":"small"}"#
            try await bench.event("sessions.changed", event, on: loop)
            bench.gateway.answer("sessions.list", ok(Self.list(Self.den)))
            try await bench.settle(on: loop)
            #expect(seen == Array(repeating: "small", count: 5) && lists(bench) == 1)
        }
    }

    @Test func `after a break the difference is told`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let gone = #"{"key":"agent:main:gone","sessionId":"g","updatedAt":5}"#
            bench.gateway.next("sessions.list", ok(Self.list(Self.den, gone)))
            _ = try await keys(bench, on: loop)
            try await bench.drop(on: loop)
            let renamed = #"{"key":"agent:main:den","sessionId":"a","updatedAt":30,"model":"large","label":"Den"}"#
            let new = #"{"key":"agent:main:new","sessionId":"n","updatedAt":31}"#
            bench.gateway.next("sessions.list", ok(Self.list(renamed, new)))
            try await bench.open(on: loop)
            let told = bench.data("session").map { "\($0["session"]?.string ?? "") \($0["reason"]?.string ?? "")" }
            #expect(told.sorted() == ["agent:main:den renamed", "agent:main:gone deleted", "agent:main:new created"])
        }
    }

    @Test func `a list that comes after the first events tells of no new sessions`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            try await changed(bench, #""label":"1""#, on: loop)
            #expect(bench.data("session").count == 1)
            try await bench.drop(on: loop)
            let other = #"{"key":"agent:main:other","sessionId":"o","updatedAt":5}"#
            bench.gateway.next("sessions.list", ok(Self.list(Self.den, other)))
            try await bench.open(on: loop)
            _ = try await keys(bench, on: loop)
            #expect(bench.data("session").count == 1)
        }
    }

    @Test func `an event names all that changed since the one before it`() async throws {
        try await withLinkedServices { bench, loop in
            try await changed(bench, #""label":"1""#, on: loop)
            try await changed(bench, #""label":"1","model":"small""#, on: loop)
            try await changed(bench, #""label":"1","model":"large","thinkingLevel":"low""#, on: loop)
            try await bench.advance(1000, on: loop)
            let last = try #require(bench.data("session").last)
            #expect(last["reason"]?.string == "changed")
            #expect(last["changes"]?.elements.compactMap(\.string) == ["model", "thinking"])
        }
    }

    @Test func `changes of one second are one event, and counters are none`() async throws {
        try await withLinkedServices { bench, loop in
            for number in 1...20 { try await changed(bench, #""label":"\#(number)""#, on: loop) }
            #expect(bench.data("session").count == 1)
            try await bench.advance(1000, on: loop)
            #expect(bench.data("session").map { $0["sessionInfo"]?["label"]?.string } == ["1", "20"])
            #expect(bench.data("session").last?["changes"]?.elements.compactMap(\.string) == ["label"])
            for number in 1...20 {
                try await changed(bench, #""label":"20","totalTokens":\#(number)"#, on: loop)
            }
            try await bench.advance(5000, on: loop)
            #expect(bench.data("session").count == 2)
        }
    }
}
