import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Service

struct DevicePairingTests {
    private static let methods = ["device.pair.list", "node.pair.list"]

    private func open(
        _ bench: ServiceBench,
        scopes: [String] = ["operator.read", "operator.pairing"],
        on loop: isolated EventLoop
    ) async throws {
        let names = Self.methods.map { "\"\($0)\"" }.joined(separator: ",")
        let text = #"{"type":"hello-ok","protocol":4,"features":{"methods":[\#(names)]},"snapshot":{"uptimeMs":1}}"#
        try await bench.open(try #require(Hello(json(text), requested: scopes)), on: loop)
    }

    private static func request(_ id: String, name: String = "Tablet") -> String {
        #"{"requestId":"\#(id)","deviceId":"d-\#(id)","displayName":"\#(name)","platform":"android","role":"node","remoteIp":"10.9.8.7","ts":1795344272186}"#
    }

    private func list(_ requests: String...) -> CallOutcome {
        ok(#"{"pending":[\#(requests.joined(separator: ","))],"paired":[]}"#)
    }

    private func told(_ bench: ServiceBench) -> [String] {
        bench.data("device").map { "\($0["reason"]?.string ?? "") \($0["device"]?["id"]?.string ?? "")" }
    }

    @Test func `waiting requests are counted if the link may see them`() async throws {
        try await withServices { bench, loop in
            #expect(bench.services.devicePairing.pendingCount == nil)
            try await open(bench, scopes: ["operator.read", "operator.write"], on: loop)
            #expect(bench.services.devicePairing.pendingCount == nil)
            #expect(bench.gateway.requests("device.pair.list").isEmpty)
            bench.gateway.next("device.pair.list", list(Self.request("a")))
            bench.gateway.next("node.pair.list", list(Self.request("n")))
            try await open(bench, on: loop)
            #expect(bench.services.devicePairing.pendingCount == 2)
            // The request waited before the very first look.
            #expect(told(bench) == [])
            try await bench.drop(on: loop)
            #expect(bench.services.devicePairing.pendingCount == nil)
        }
    }

    @Test func `a list that fails leaves the count unknown until a look succeeds`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("device.pair.list", list(), list(Self.request("a")))
            bench.gateway.next("node.pair.list", refused("UNAVAILABLE"), list())
            try await open(bench, on: loop)
            #expect(bench.services.devicePairing.pendingCount == nil)
            try await bench.advance(60_000, on: loop)
            #expect(bench.services.devicePairing.pendingCount == 1)
        }
    }

    @Test func `a request is told once, and its end`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("device.pair.list", list())
            bench.gateway.next("node.pair.list", list())
            try await open(bench, on: loop)
            try await bench.event("device.pair.requested", Self.request("a", name: "Tab\\u202elet"), on: loop)
            try await bench.event("device.pair.requested", Self.request("a"), on: loop)
            let silent = #"{"requestId":"s","silent":true}"#
            try await bench.event("device.pair.requested", silent, on: loop)
            try await bench.event("device.pair.resolved", #"{"requestId":"stranger","decision":"approved"}"#, on: loop)
            #expect(told(bench) == ["requested a"] && bench.services.devicePairing.pendingCount == 1)
            let event = try #require(bench.published.first { $0.type == "device" })
            let text = String(decoding: event.data, as: UTF8.self)
            #expect(
                text.contains("openclaw devices approve a") && text.contains(#"Tab\\u{202E}let"#)
                    && !text.contains("10.9.8.7")
            )
            try await bench.event("device.pair.resolved", #"{"requestId":"a","decision":"approved"}"#, on: loop)
            #expect(told(bench) == ["requested a", "approved a"] && bench.services.devicePairing.pendingCount == 0)
        }
    }

    @Test func `a request that is forgotten has ended, and a restart tells none twice`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next(
                "device.pair.list",
                list(),
                list(Self.request("a")),
                list(Self.request("a")),
                list(),
                list()
            )
            bench.gateway.next("node.pair.list", list(), list(), list(), list(), list())
            try await open(bench, on: loop)
            try await bench.event("device.pair.requested", Self.request("a"), on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(told(bench) == ["requested a"])
            try await bench.drop(on: loop)
            try await bench.restart(on: loop)
            try await open(bench, on: loop)
            #expect(told(bench) == [] && bench.services.devicePairing.pendingCount == 1)
            try await bench.advance(60_000, on: loop)
            #expect(told(bench) == ["ended a"] && bench.services.devicePairing.pendingCount == 0)
            let asked = bench.gateway.requests("device.pair.list").count
            try await bench.advance(600_000, on: loop)
            #expect(bench.gateway.requests("device.pair.list").count == asked)
        }
    }

    @Test func `a list that an event overtook is asked for again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.silent = ["device.pair.list"]
            bench.gateway.next("node.pair.list", list(), list())
            try await open(bench, on: loop)
            try await bench.event("device.pair.requested", Self.request("a"), on: loop)
            bench.gateway.answer("device.pair.list", list())
            try await bench.settle(on: loop)
            #expect(bench.gateway.openCalls("device.pair.list") == 1)
            bench.gateway.answer("device.pair.list", list(Self.request("a")))
            try await bench.settle(on: loop)
            #expect(bench.services.devicePairing.pendingCount == 1)
        }
    }
}
