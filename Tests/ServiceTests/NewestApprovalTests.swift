import EventLoops
import Gateway
import JSONBytes
import Runs
import Testing

@testable import Service

/// Approvals of the gateways from 2026.9 on, by their schemas: nobody has run Ladle with one. `approvals.jsonl`.
struct NewestApprovalTests {
    private func open(_ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        let methods = [
            "exec.approval.list", "plugin.approval.list", "openclaw.approval.list", "exec.approval.resolve",
            "approval.get",
            "approval.resolve",
        ]
        let text = #"""
            {"type":"hello-ok","protocol":4,"server":{"version":"2026.9.7","bootId":"b"},
            "features":{"methods":[\#(methods.map { "\"\($0)\"" }.joined(separator: ","))]},
            "snapshot":{"uptimeMs":3600000}}
            """#
        for list in methods.prefix(3) { bench.gateway.next(list, ok("[]")) }
        try await bench.open(try #require(Hello(json(text), requested: [])), on: loop)
    }

    private static let times = #""createdAtMs":1795000000000,"expiresAtMs":1795001800000"#
    private static let proposal =
        #""title":"Change configuration","description":"Set agents.defaults.model","proposalHash":"9f86","agentId":"main","#
        + #""allowedDecisions":["allow-once","deny"]"#

    private func snapshot(_ id: String, _ presentation: String, _ more: String = #""status":"pending""#) -> CallOutcome
    {
        ok(#"{"approval":{"id":"\#(id)",\#(Self.times),"presentation":{\#(presentation)},\#(more)}}"#)
    }

    private func approval(_ bench: ServiceBench) -> JSONValue? { bench.data("approval").last?["approval"] }

    @Test func `a change of the gateway itself is shown and decided`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.next("approval.get", snapshot("ap-3", #""kind":"system-agent",\#(Self.proposal)"#))
            let asked = #"{"id":"ap-3","request":{\#(Self.proposal)},\#(Self.times)}"#
            try await bench.event("openclaw.approval.requested", asked, on: loop)
            #expect(approval(bench)?["kind"]?.string == "system-agent")
            #expect(approval(bench)?["title"]?.string == "Change configuration")
            #expect(approval(bench)?["decisions"]?.elements.compactMap(\.string) == ["allow-once", "deny"])
            bench.gateway.next("approval.resolve", ok(#"{"applied":true,"approval":{"id":"ap-3","status":"allowed"}}"#))
            #expect(try await bench.decide("ap-3", .allowOnce, on: loop) == "decided allowed")
            #expect(bench.gateway.requests("approval.resolve").last?["kind"] == "system-agent")
        }
    }

    @Test(arguments: [
        (
            #"{"kind":"standing-grant","automation":"nightly","command":"rm -r build","expiresInDays":30}"#,
            "lets nightly run rm -r build from now on, for 30 days"
        ),
        (
            #"{"kind":"message-send","target":"list","recipientCount":3,"recipients":["a","b"],"audience":"external"}"#,
            "sends a message to list, 3 recipients (a, b), external"
        ),
        (#"{"kind":"payment","amount":12.5,"currency":"EUR","target":"shop"}"#, "pays 12.5 EUR to shop"),
        (#"{"kind":"external-post","target":"blog","visibility":"public"}"#, "posts to blog, public"),
    ])
    func `the person who decides is told how far the action reaches`(scope: String, line: String) async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let shown =
                #""kind":"exec","commandText":"rm -r build","scope":\#(scope),"allowedDecisions":["allow-once","deny"]"#
            bench.gateway.next("approval.get", snapshot("a", shown))
            try await bench.asks(Asked.exec("a", "rm -r build", more: #","cwd":"/tmp""#), on: loop)
            #expect(bench.states(of: "a") == ["pending"], "it is told once")
            #expect(approval(bench)?["reach"]?["text"]?.string == line)
            #expect(approval(bench)?["cwd"]?.string == "/tmp", "the event says that alone")
            let known = bench.services.approvals.item("a", on: loop)
            #expect(known?.question.contains(line) == true && known?.decisions == [.allowOnce, .deny])
            #expect(known?.reach != nil)
        }
    }

    @Test func `an action whose reach cannot be read can only be denied`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            let shown =
                #""kind":"exec","commandText":"date","scope":{"kind":"launch"},"allowedDecisions":["allow-once","deny"]"#
            bench.gateway.next("approval.get", snapshot("a", shown))
            try await bench.asks(Asked.exec("a"), on: loop)
            let known = bench.services.approvals.item("a", on: loop)
            #expect(known?.decisions == [.deny])
            #expect(approval(bench)?["truncated"]?.bool == true)
        }
    }

    @Test func `a gateway that does not say more is taken at its event`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.next("approval.get", refused("UNAVAILABLE"))
            try await bench.asks(Asked.exec("a"), on: loop)
            #expect(bench.states(of: "a") == ["pending"])
        }
    }

    @Test func `an end that comes before the gateway has said more is told too`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.silent.insert("approval.get")
            try await bench.asks(Asked.exec("a"), on: loop)
            #expect(bench.states(of: "a").isEmpty)
            try await bench.ends(Asked.resolved("a", "allow-once"), on: loop)
            #expect(bench.states(of: "a") == ["pending", "allowed"])
            bench.gateway.endOpenCalls(
                snapshot("a", #""kind":"exec","commandText":"date","allowedDecisions":["deny"]"#)
            )
            try await bench.settle(on: loop)
            #expect(bench.states(of: "a") == ["pending", "allowed"])
        }
    }

    @Test func `a row of a list without its request is asked about, and stays the same`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.drop(on: loop)
            let row = #"[{"id":"ap-3",\#(Self.times)}]"#
            for _ in 0..<2 {
                try await bench.drop(on: loop)
                bench.gateway.responder = { request in
                    switch request.method {
                    case "openclaw.approval.list": .now(ok(row))
                    case "approval.get": .now(self.snapshot("ap-3", #""kind":"system-agent",\#(Self.proposal)"#))
                    default: nil
                    }
                }
                try await open(bench, on: loop)
            }
            #expect(bench.states(of: "ap-3") == ["pending"])
            #expect(bench.services.approvals.pendingCount() == 1)
        }
    }

    @Test func `a request that ended with its gateway is cancelled, not denied`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            bench.gateway.next("approval.get", snapshot("ap-3", #""kind":"system-agent",\#(Self.proposal)"#))
            let asked = #"{"id":"ap-3","request":{\#(Self.proposal)},\#(Self.times)}"#
            try await bench.event("openclaw.approval.requested", asked, on: loop)
            try await bench.drop(on: loop)
            let end = #""status":"cancelled","reason":"gateway-restart","resolvedAtMs":1795000000500"#
            bench.gateway.next("approval.get", snapshot("ap-3", #""kind":"system-agent",\#(Self.proposal)"#, end))
            try await open(bench, on: loop)
            #expect(bench.states(of: "ap-3") == ["pending", "cancelled"])
        }
    }
}
