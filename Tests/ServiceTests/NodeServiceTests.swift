import EventLoops
import EventStream
import Gateway
import JSONBytes
import Notifications
import TestSupport
import Testing

@testable import Service

struct NodeServiceTests {
    private static let methods = ["node.list", "node.invoke"]

    private static func node(
        _ id: String,
        connected: Bool = true,
        commands: String = #"["system.notify","camera.snap"]"#,
        more: String = ""
    ) -> String {
        #"{"nodeId":"\#(id)","displayName":"Node \#(id)","paired":true,"connected":\#(connected),"commands":\#(commands),"#
            + #""caps":["system"],"remoteIp":"10.9.8.7","pathEnv":"/home/me/bin"\#(more)}"#
    }

    private func list(_ nodes: String...) -> CallOutcome { ok(#"{"ts":1,"nodes":[\#(nodes.joined(separator: ","))]}"#) }

    private func read(_ bench: ServiceBench, refresh: Bool = false, on loop: isolated EventLoop) async throws
        -> NodeService.List
    {
        var list: NodeService.List?
        bench.services.nodes.read(refresh: refresh, on: loop) { list = try? $0.get() }
        try await bench.settle(on: loop)
        return try #require(list)
    }

    private func told(_ bench: ServiceBench) -> [String] {
        bench.data("node").map { "\($0["reason"]?.string ?? "") \($0["node"]?["id"]?.string ?? "")" }
    }

    private func text(_ row: Node) -> String {
        var writer = JSONWriter()
        row.write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `readers of one moment are one call`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.silent = ["node.list"]
            var answers = 0
            for _ in 0..<50 { bench.services.nodes.read(on: loop) { _ in answers += 1 } }
            try await bench.settle(on: loop)
            #expect(bench.gateway.requests("node.list").count == 1 && answers == 0)
            bench.gateway.answer("node.list", list(Self.node("b"), Self.node("a")))
            #expect(answers == 50)
            bench.gateway.silent = []
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a", "b"])
            #expect(bench.gateway.requests("node.list").count == 1)
            bench.gateway.next("node.list", list(Self.node("a")))
            try await bench.advance(2_000, on: loop)
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a"])
        }
    }

    @Test func `each command says why it is not done`() async throws {
        var settings = ServiceSettings()
        settings.nodes = try NodePolicy(allow: ["location.get", "camera.clip"])
        try await withServices(settings) { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            let more =
                #","pendingDeclaredCommands":["device.info"],"approvalState":"pending-approval","invocableCommands":["system.notify"]"#
            let commands = #"["system.notify","camera.snap","camera.clip","system.run","odd\u202e"]"#
            bench.gateway.next("node.list", list(Self.node("a", commands: commands, more: more)))
            let row = try #require(try await read(bench, on: loop).rows.first)
            let reasons = Dictionary(uniqueKeysWithValues: row.commands.map { ($0.name, $0.refusal) })
            #expect(reasons["system.notify"] == .some(nil))
            #expect(reasons["camera.snap"] == .ladlePolicy && reasons["system.run"] == .ladlePolicy)
            #expect(reasons["camera.clip"] == .gatewayPolicy && reasons["device.info"] == .gatewayPolicy)
            #expect(reasons["location.get"] == .notDeclared && reasons["canvas.hide"] == .notDeclared)
            #expect(!text(row).contains("10.9.8.7") && !text(row).contains("/home/me"))
            #expect(text(row).contains(#""awaitsApproval":true"#))
        }
    }

    @Test func `changes in a list are published, and mere times are not`() async throws {
        try await withServices { bench, loop in
            bench.services.audience.joined(.everything)
            bench.gateway.next(
                "node.list",
                list(Self.node("a"), Self.node("b", connected: false)),
                list(Self.node("a", more: #","connectedAtMs":1795342723629"#), Self.node("b", connected: false)),
                list(Self.node("a", connected: false), Self.node("b"), Self.node("c")),
                list(Self.node("b", commands: "[]"), Self.node("c"))
            )
            try await bench.open(methods: Self.methods, on: loop)
            #expect(told(bench) == [])
            try await bench.event("presence", #"{"presence":[]}"#, on: loop)
            try await bench.advance(500, on: loop)
            #expect(bench.gateway.requests("node.list").count == 2 && told(bench) == [])
            try await bench.advance(45_000, on: loop)
            #expect(told(bench) == ["disconnected a", "connected b", "connected c"])
            bench.services.audience.left(.everything)
            _ = try await read(bench, refresh: true, on: loop)
            #expect(told(bench).suffix(2) == ["changed b", "changed a"])
            let gone = bench.data("node").last?["node"]
            #expect(gone?["state"]?.string == "unpaired" && gone?["commands"]?.count == 0)
        }
    }

    @Test func `nobody follows, so nobody asks`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            try await bench.event("presence", #"{"presence":[]}"#, on: loop)
            for _ in 0..<4 {
                try await bench.advance(30_000, on: loop)
                try await bench.event("tick", "{}", on: loop)
            }
            #expect(bench.gateway.requests("node.list").isEmpty)
            bench.services.audience.rulesTake([.nodeOffline])
            try await bench.event("tick", "{}", on: loop)
            #expect(bench.gateway.requests("node.list").count == 1)
            try await bench.advance(150_000, on: loop)
            #expect((4...6).contains(bench.gateway.requests("node.list").count))
        }
    }

    @Test func `declarations that a gateway forgets while a node is away are kept`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Self.methods, on: loop)
            bench.gateway.next(
                "node.list",
                list(Self.node("a")),
                list(Self.node("a", connected: false, commands: "[]"))
            )
            _ = try await read(bench, on: loop)
            let row = try await read(bench, refresh: true, on: loop).rows[0]
            #expect(
                row.state == .disconnected && row.commands.contains { $0.name == "camera.snap" }
            )
            #expect(told(bench) == ["disconnected a"])
        }
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Self.methods, on: loop)
            bench.gateway.next("node.list", list(Self.node("a", connected: false, commands: "[]")))
            // The node was never seen, so nothing is claimed.
            #expect(try await read(bench, on: loop).rows[0].commands == [])
        }
    }

    @Test func `away, the last list is answered, also by the next process`() async throws {
        try await withServices { bench, loop in
            #expect(try await read(bench, on: loop).rows.isEmpty)
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("node.list", list(Self.node("a")))
            _ = try await read(bench, on: loop)
            try await bench.drop(on: loop)
            let kept = try await read(bench, on: loop)
            #expect(!kept.isLive && kept.rows.map(\.id) == ["a"] && kept.asOf != nil)
            try await bench.restart(on: loop)
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a"])
        }
    }

    @Test func `a break of the link is made up for by the next list`() async throws {
        try await withServices { bench, loop in
            bench.services.audience.joined(.everything)
            bench.gateway.next("node.list", list(Self.node("a")), list(Self.node("a", connected: false)))
            try await bench.open(methods: Self.methods, on: loop)
            try await bench.drop(on: loop)
            try await bench.open(methods: Self.methods, on: loop)
            #expect(told(bench) == ["disconnected a"])
        }
    }

    @Test func `hostile names are spelt out`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            let name = String(repeating: "x", count: 10_000)
            let more = #","displayName":"a\u202e\u0000\u0085\#(name)","permissions":{"p\u001b":true}"#
            let row = #"{"nodeId":"a","paired":true,"connected":true,"commands":[]\#(more)}"#
            bench.gateway.next("node.list", list(row))
            let shown = text(try await read(bench, on: loop).rows[0])
            #expect(shown.contains(#"a\\u{202E}\\u{0}\\u{85}xx"#) && shown.utf8.count < 3_000, "\(shown)")
            #expect(shown.contains(#""p\\u{1B}":true"#))
        }
    }

    @Test func `a gateway without nodes is told apart`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["chat.send"], on: loop)
            var fault: ServiceFault?
            bench.services.nodes.read(on: loop) { if case .failure(let found) = $0 { fault = found } }
            try await bench.settle(on: loop)
            guard case .gateway(.unsupported("nodes", _, _)) = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
        }
    }
}
