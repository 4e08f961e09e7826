import Basics
import EventLoops
import Gateway
import JSONBytes
import Testing

@testable import Service

/// The list of models: its fields, and how long it is cached.
struct ModelServiceTests {
    private static let list = ok(
        #"{"models":[{"id":"m-1","name":"M\u202e1","provider":"p","contextWindow":1000,"reasoning":true,"alias":"one","available":false,"api":"x"},"#
            + #"{"id":"m-2","provider":"p"},{"id":"","provider":"p"},{"name":"no id"}]}"#
    )
    private static let defaults = ok(#"{"sessions":[],"defaults":{"modelProvider":"p","model":"m-2"}}"#)

    private func read(
        view: ModelView? = nil,
        _ bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws -> KeptAnswer<[ModelInfo]>? {
        var answer: Result<KeptAnswer<[ModelInfo]>, GatewayFault>?
        loop.start {
            answer = await Result { () async throws(GatewayFault) in
                try await bench.services.models.read(view, on: loop)
            }
        }
        try await bench.settle(on: loop)
        return try answer?.get()
    }

    private func calls(_ bench: ServiceBench) -> [String?] { bench.gateway.requests("models.list").map { $0["view"] } }

    @Test func `a model has its fields, and one of them is the default`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("models.list", Self.list)
            bench.gateway.next("sessions.list", Self.defaults)
            try await bench.open(methods: ["models.list"], on: loop)
            let models = try #require(try await read(bench, on: loop)?.value)
            var writer = JSONWriter()
            writer.array(of: models)
            #expect(
                String(decoding: writer.bytes, as: UTF8.self)
                    == #"[{"id":"p/m-1","name":"M\\u{202E}1","provider":"p","alias":"one","contextTokens":1000,"reasoning":true,"available":false,"default":false},"#
                    + #"{"id":"p/m-2","name":"m-2","provider":"p","default":true}]"#
            )
        }
    }

    @Test func `a list is kept for ten minutes, and shown while the gateway is away`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("models.list", Self.list, Self.list, Self.list, Self.list)
            try await bench.open(methods: ["models.list"], on: loop)
            // Without the name of the default one.
            #expect(try await read(bench, on: loop)?.value.count == 2)
            try await bench.advance(599_999, on: loop)
            #expect(try await read(bench, on: loop)?.isLive == true)
            #expect(calls(bench).count == 1)
            try await bench.advance(1, on: loop)
            _ = try await read(bench, on: loop)
            #expect(calls(bench).count == 2)
            // The newest releases report changes of their configuration.
            try await bench.event("config.changed", "{}", on: loop)
            _ = try await read(bench, on: loop)
            #expect(calls(bench).count == 3)
            try await bench.drop(on: loop)
            #expect(try await read(bench, on: loop)?.isLive == false)
            try await bench.advance(600_000, on: loop)
            let kept = try #require(try await read(bench, on: loop))
            #expect(!kept.isLive && kept.value.count == 2)
        }
    }

    @Test func `a list that was asked for before a change is asked for again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.silent = ["models.list"]
            try await bench.open(methods: ["models.list"], on: loop)
            loop.start { _ = try? await bench.services.models.read(nil, on: loop) }
            try await bench.settle(on: loop)
            try await bench.event("config.changed", "{}", on: loop)
            bench.gateway.answer("models.list", Self.list)
            try await bench.settle(on: loop)
            loop.start { _ = try? await bench.services.models.read(nil, on: loop) }
            try await bench.settle(on: loop)
            #expect(calls(bench).count == 2)
        }
    }

    @Test func `views are sent to the releases that have them`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("models.list", Self.list, Self.list, Self.list)
            try await bench.open(version: 3, methods: ["models.list"], on: loop)
            _ = try await read(view: .all, bench, on: loop)
            _ = try await read(view: .configured, bench, on: loop)
            #expect(calls(bench) == [nil])
            #expect(bench.gateway.requests("models.list")[0].params.count == 0)
            try await bench.open(version: 4, methods: ["models.list"], on: loop)
            _ = try await read(view: .all, bench, on: loop)
            _ = try await read(view: .configured, bench, on: loop)
            _ = try await read(view: .all, bench, on: loop)
            #expect(calls(bench) == [nil, "all", "configured"])
        }
    }

    @Test func `many who ask at once make one call`() async throws {
        try await withServices { bench, loop in
            bench.gateway.silent = ["models.list"]
            try await bench.open(methods: ["models.list"], on: loop)
            var answers = 0
            for _ in 0..<50 {
                loop.start {
                    _ = try? await bench.services.models.read(nil, on: loop)
                    answers += 1
                }
            }
            try await bench.settle(on: loop)
            bench.gateway.answer("models.list", Self.list)
            try await bench.settle(on: loop)
            #expect(answers == 50 && calls(bench).count == 1)
        }
    }
}
