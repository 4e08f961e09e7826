import EventLoops
import Gateway
import JSONBytes
import Testing

@testable import Service

/// A gateway that grants less than is configured. `wait-and-limits.jsonl`.
struct ScopeUpgradeTests {
    private static let wanted = ["operator.read", "operator.write", "operator.approvals"]

    private func open(_ bench: ServiceBench, version: String = "2026.9.7", on loop: isolated EventLoop) async throws {
        let methods = version == "2026.9.7" ? #""device.scopes.requestUpgrade""# : #""sessions.subscribe""#
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"\#(version)"\#(version == "2026.9.7" ? #","bootId":"b""# : "")},
            "features":{"methods":[\#(methods)]},"snapshot":{"uptimeMs":3600000,
            "sessionDefaults":{"defaultAgentId":"main","mainKey":"main","mainSessionKey":"agent:main:main"}}}
            """#
        try await bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    private func asked(_ bench: ServiceBench) -> [String] {
        bench.gateway.requests.map(\.method).filter { $0.hasPrefix("device.scopes") }
    }

    @Test func `the owner grants what is missing while the link stands`() async throws {
        try await withServices { bench, loop in
            bench.gateway.scopesToGain = Self.wanted
            bench.gateway.next("device.scopes.requestUpgrade", ok(#"{"requestId":"up-1"}"#))
            bench.gateway.next("device.scopes.waitUpgrade", ok(#"{"status":"pending","requestId":"up-1"}"#))
            bench.gateway.next(
                "device.scopes.waitUpgrade",
                ok(#"{"status":"approved","requestId":"up-1","deviceToken":"dt","scopes":["operator.read"]}"#)
            )
            try await open(bench, on: loop)
            try await bench.advance(1_000, on: loop)
            let request = bench.gateway.requests("device.scopes.requestUpgrade").first
            #expect(request?.params["scopes"]?.elements.compactMap(\.string) == Self.wanted)
            #expect(bench.gateway.scopeRequests == ["up-1", "up-1"])
            #expect(bench.gateway.gainedTokens == [DeviceToken(token: "dt", scopes: ["operator.read"])])
        }
    }

    @Test func `after a break the same request is waited for`() async throws {
        try await withServices { bench, loop in
            bench.gateway.scopesToGain = Self.wanted
            bench.gateway.silent = ["device.scopes.waitUpgrade"]
            bench.gateway.next("device.scopes.requestUpgrade", ok(#"{"requestId":"up-1"}"#))
            try await open(bench, on: loop)
            try await bench.drop(on: loop)
            try await open(bench, on: loop)
            #expect(bench.gateway.requests("device.scopes.requestUpgrade").count == 1)
            #expect(
                bench.gateway.requests("device.scopes.waitUpgrade").compactMap { $0["requestId"] } == ["up-1", "up-1"]
            )
        }
    }

    @Test func `what the owner did not grant is not asked for again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.scopesToGain = Self.wanted
            bench.gateway.next("device.scopes.requestUpgrade", ok(#"{"requestId":"up-1"}"#))
            bench.gateway.next("device.scopes.waitUpgrade", ok(#"{"status":"rejected","requestId":"up-1"}"#))
            try await open(bench, on: loop)
            try await bench.drop(on: loop)
            try await open(bench, on: loop)
            #expect(asked(bench) == ["device.scopes.requestUpgrade", "device.scopes.waitUpgrade"])
            #expect(bench.gateway.gainedTokens.isEmpty)
        }
    }

    @Test func `a role that was assigned is left as it is`() async throws {
        try await withServices { bench, loop in
            bench.gateway.scopesToGain = Self.wanted
            bench.gateway.next("device.scopes.requestUpgrade", refused("INVALID_REQUEST", "an assigned operator role"))
            try await open(bench, on: loop)
            try await bench.drop(on: loop)
            try await open(bench, on: loop)
            #expect(asked(bench) == ["device.scopes.requestUpgrade"])
        }
    }

    @Test(arguments: [true, false])
    func `nothing is asked of an older gateway, or where nothing is missing`(isOld: Bool) async throws {
        try await withServices { bench, loop in
            bench.gateway.scopesToGain = isOld ? Self.wanted : nil
            try await open(bench, version: isOld ? "2026.6.11" : "2026.9.7", on: loop)
            #expect(asked(bench).isEmpty)
        }
    }
}
