import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Service

struct NodeInvokerTests {
    private static let methods = ["node.list", "node.invoke"]
    private static let node =
        #"{"nodeId":"n","displayName":"Phone","paired":true,"connected":true,"commands":["system.notify","location.get"]}"#

    private static func call(_ command: String = "system.notify", node: String = "n") -> NodeCall {
        NodeCall(node: node, command: command, members: Array(#"{"title":"x"}"#.utf8), waitMs: 5_000, key: "k")
    }

    private func invoke(
        _ call: NodeCall,
        _ bench: ServiceBench,
        on loop: isolated EventLoop,
        then done: @escaping (Result<NodeAnswer, NodeFault>) -> Void
    ) {
        loop.start {
            do throws(NodeFault) {
                done(.success(try await bench.services.nodeInvoker.invoke(call, on: loop)))
            } catch {
                done(.failure(error))
            }
        }
    }

    private func nodeError(_ code: String) -> CallOutcome {
        refused(
            "UNAVAILABLE",
            "\(code): no",
            more: #","details":{"nodeError":{"code":"\#(code)","message":"in /home/ann/x"}}"#
        )
    }

    @Test func `a command that the policy does not let through never leaves`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            for command in ["system.run", "location.get", "made.up", "", "system.notify\u{0}"] {
                var fault: NodeFault?
                invoke(Self.call(command), bench, on: loop) {
                    if case .failure(let found) = $0 { fault = found }
                }
                guard case .refused(.ladlePolicy) = fault else {
                    Issue.record("\(command): \(String(describing: fault))")
                    continue
                }
            }
            try await bench.settle(on: loop)
            #expect(bench.gateway.requests("node.invoke").isEmpty && bench.services.nodeInvoker.counts[.refused] == 5)
        }
    }

    @Test func `a node does one thing at a time`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("node.list", ok(#"{"nodes":[\#(Self.node)]}"#))
            bench.gateway.silent = ["node.invoke"]
            var words: [String] = []
            func begin(on loop: isolated EventLoop) {
                invoke(Self.call(), bench, on: loop) { result in
                    switch result {
                    case .success(let answer): words.append("\(answer.durationMs) ms")
                    case .failure(let fault): words.append("\(fault)")
                    }
                }
            }
            begin(on: loop)
            begin(on: loop)
            try await bench.advance(40, on: loop)
            #expect(words == ["busy"] && bench.gateway.openCalls("node.invoke") == 1)
            let sent = try #require(bench.gateway.requests("node.invoke").first)
            #expect(sent["nodeId"] == "n" && sent["idempotencyKey"] == "k" && sent.params["timeoutMs"]?.int == 5_000)
            #expect(sent.params["params"]?["title"]?.string == "x")
            bench.gateway.answer("node.invoke", ok(#"{"ok":true,"payloadJSON":"{\"a\":1}"}"#))
            try await bench.settle(on: loop)
            #expect(words == ["busy", "40 ms"])
            begin(on: loop)
            try await bench.settle(on: loop)
            #expect(bench.gateway.openCalls("node.invoke") == 1)
            // The link is lost: the call is not repeated.
            try await bench.drop(on: loop)
            #expect(words.last?.contains("unanswered") == true)
            try await bench.open(methods: Self.methods, on: loop)
            #expect(bench.gateway.requests("node.invoke").count == 2)
        }
    }

    @Test func `an undeclared command is refused without asking the node`() async throws {
        var settings = ServiceSettings()
        settings.nodes = try NodePolicy(allow: ["camera.snap"])
        try await withServices(settings) { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("node.list", ok(#"{"nodes":[\#(Self.node)]}"#))
            // Each call has its own answer; which one comes first is not said.
            var faults: [Int: NodeFault] = [:]
            for (place, call) in [Self.call("camera.snap"), Self.call(node: "other")].enumerated() {
                invoke(call, bench, on: loop) {
                    if case .failure(let fault) = $0 { faults[place] = fault }
                }
            }
            try await bench.settle(on: loop)
            #expect(faults.count == 2 && bench.gateway.requests("node.invoke").isEmpty)
            guard case .refused(.notDeclared) = faults[0], case .notFound = faults[1] else {
                Issue.record("\(faults)")
                return
            }
        }
    }

    @Test(arguments: [
        ("NODE_BACKGROUND_UNAVAILABLE", NodeOutcome.background), ("CONTACTS_PERMISSION_REQUIRED", .permission),
        ("TIMEOUT", .timeout), ("INTERNAL", .failed),
    ])
    func `the node's words are kept without places of its host`(code: String, outcome: NodeOutcome) async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("node.list", ok(#"{"nodes":[\#(Self.node)]}"#))
            bench.gateway.next("node.invoke", self.nodeError(code))
            var fault: NodeFault?
            invoke(Self.call(), bench, on: loop) {
                if case .failure(let found) = $0 { fault = found }
            }
            try await bench.settle(on: loop)
            guard case .answered(_, let words) = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
            #expect(words.gatewayCode == "UNAVAILABLE" && words.nodeCode == code && !words.text.contains("/home/"))
            #expect(bench.services.nodeInvoker.counts[outcome] == 1)
        }
    }

    @Test func `an answer is a value, a text that is none, or nothing`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("node.list", ok(#"{"nodes":[\#(Self.node)]}"#))
            bench.gateway.next(
                "node.invoke",
                ok(#"{"payload":{"b":2},"payloadJSON":"{\"a\":1}"}"#),
                ok(#"{"payload":{"b":2}}"#),
                ok(#"{"payloadJSON":"{\"a\":"}"#),
                ok(#"{"payload":null}"#)
            )
            var shapes: [String] = []
            for _ in 0..<4 {
                invoke(Self.call(), bench, on: loop) { result in
                    switch try? result.get().result {
                    case .value(let value): shapes.append(String(decoding: value.raw, as: UTF8.self))
                    case .text(let text): shapes.append("text \(text)")
                    case .empty: shapes.append("none")
                    case nil: shapes.append("failed")
                    }
                }
                try await bench.settle(on: loop)
            }
            #expect(shapes == [#"{"a":1}"#, #"{"b":2}"#, #"text {"a":"#, "none"])
        }
    }
}
