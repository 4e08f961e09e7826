import Basics
import EventLoops
import EventStream
import Gateway
import JSONBytes
import Runs
import Service
import Store
import TestSupport
import Testing
import Upstream

/// The gateway's lists of approvals: when they are asked for, and what an entry proves that they no longer have.
struct ApprovalListTests {
    @Test(arguments: ["[%]", #"{"approvals":[%]}"#])
    func `a list after the connection is merged with the events`(form: String) async throws {
        try await withServices { bench, loop in
            let row = Asked.exec("a", "ls")
            let list = ok(form.replacingText("%", with: row + "," + Asked.exec("b")))
            bench.gateway.next("exec.approval.list", list)
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(row, on: loop)
            #expect(bench.states(of: "a") == ["pending"])
            #expect(bench.services.approvals.waiting(on: loop).map(\.id).sorted() == ["a", "b"])
            // While Ladle is away, somebody decides about one of them.
            try await bench.drop(on: loop)
            #expect(bench.services.approvals.waiting(on: loop).map(\.state) == [.unknown, .unknown])
            #expect(bench.services.approvals.pendingCount() == 0)
            #expect(try await bench.decide("a", .deny, on: loop) == "failed notConnected")
            bench.gateway.next("exec.approval.list", ok(form.replacingText("%", with: row)))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.states(of: "a") == ["pending"])
            #expect(bench.states(of: "b") == ["pending", "unknown"])
            #expect(bench.services.approvals.waiting(on: loop).map(\.id) == ["a"])
        }
    }

    @Test func `a listed approval makes its run's step wait`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.event("agent", Frame.start("r"), on: loop)
            try await bench.event("agent", Frame.tool("r", 2, "start"), on: loop)
            try await bench.drop(on: loop)
            bench.gateway.next("exec.approval.list", ok("[\(Asked.exec("a"))]"))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.data("run.step").last?["step"]?["approvalId"]?.string == "a")
            #expect(bench.data("approval").last?["runId"]?.string == "r")
        }
    }

    @Test func `frames that were lost are made up for by the list`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"), ok("[\(Asked.exec("b"))]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            bench.services.events.notify(.framesLost, on: loop)
            try await bench.settle(on: loop)
            #expect(bench.states(of: "a") == ["pending", "unknown"])
            #expect(bench.states(of: "b") == ["pending"])
        }
    }

    @Test func `while the list is on its way nothing is decided`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[\(Asked.exec("a"))]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.drop(on: loop)
            bench.gateway.silent = ["exec.approval.list"]
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.services.approvals.sight == .asking)
            #expect(try await bench.decide("a", .deny, on: loop) == "not ready")
            bench.gateway.answer("exec.approval.list", ok("[\(Asked.exec("a"))]"))
            try await bench.settle(on: loop)
            #expect(try await bench.decide("a", .deny, on: loop) == "decided denied")
        }
    }

    @Test func `a list that was not answered is asked for again, less and less often`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.services.approvals.sight == .unanswered)
            try await bench.advance(2_000, on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(bench.gateway.requests("exec.approval.list").count == 2)
            bench.gateway.next("exec.approval.list", ok("[\(Asked.exec("a"))]"))
            try await bench.advance(2_000, on: loop)
            #expect(bench.services.approvals.sight == .whole)
            #expect(bench.states(of: "a") == ["pending"])
            try await bench.advance(200_000, on: loop)
            #expect(bench.gateway.requests("exec.approval.list").count == 3)
            // The gateway answered, so the next silence begins with the short wait.
            bench.services.events.notify(.framesLost, on: loop)
            try await bench.settle(on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(bench.gateway.requests("exec.approval.list").count == 5)
        }
    }

    @Test func `an approval that may have expired before the first connection is checked without haste`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            try await bench.kill(on: loop)
            try await bench.advance(1_802_000, on: loop)
            #expect(bench.services.approvals.waiting(on: loop).map(\.id) == ["a"])
            let wait = loop.nextDeadline.map { $0 - loop.now } ?? 0
            #expect(wait > 1_000_000_000)
        }
    }

    @Test func `a gateway that remembers is asked how what it lists no more has ended`() async throws {
        try await withServices { bench, loop in
            let methods = Asked.listing + ["approval.get"]
            try await bench.open(methods: methods, on: loop)
            for id in ["a", "b", "c"] { try await bench.asks(Asked.exec(id), on: loop) }
            try await bench.drop(on: loop)
            bench.gateway.next("exec.approval.list", ok("[\(Asked.exec("d"))]"))
            let at = ManualClock.start.milliseconds
            bench.gateway.next(
                "approval.get",
                ok(#"{"approval":{"id":"a","status":"allowed","decision":"allow-once","resolvedAtMs":\#(at)}}"#)
            )
            bench.gateway.next("approval.get", ok(#"{"id":"b","status":"cancelled","reason":"gateway-restart"}"#))
            bench.gateway.next("approval.get", refused("INVALID_REQUEST", "unknown"))
            try await bench.open(methods: methods, on: loop)
            #expect(bench.gateway.requests("approval.get").map { $0["id"] } == ["a", "b", "c"])
            #expect(bench.states(of: "a") == ["pending", "allowed"])
            #expect(bench.states(of: "b") == ["pending", "cancelled"])
            #expect(bench.states(of: "c") == ["pending", "unknown"])
            #expect(try await bench.decide("a", .allowOnce, on: loop) == "decided allowed")
            // The same holds for a decision that came too late.
            bench.gateway.next("exec.approval.resolve", refused("INVALID_REQUEST", "approval already resolved"))
            bench.gateway.next("approval.get", ok(#"{"id":"d","status":"denied","decision":"deny"}"#))
            #expect(try await bench.decide("d", .allowOnce, on: loop) == "ended denied")
            #expect(bench.states(of: "d") == ["pending", "denied"])
        }
    }

    @Test func `a gateway with one call for all kinds gets it`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["exec.approval.list", "approval.resolve"], on: loop)
            for id in ["a", "b", "c"] { try await bench.asks(Asked.exec(id), on: loop) }
            bench.gateway.next("approval.resolve", ok(#"{"applied":true,"approval":{"status":"denied"}}"#))
            #expect(try await bench.decide("a", .deny, on: loop) == "decided denied")
            let sent = try #require(bench.gateway.requests("approval.resolve").first)
            #expect(sent["id"] == "a" && sent["kind"] == "exec" && sent["decision"] == "deny")
            let first = #"{"applied":false,"approval":{"status":"allowed","decision":"allow-once"}}"#
            bench.gateway.next("approval.resolve", ok(first))
            #expect(try await bench.decide("b", .deny, on: loop) == "ended allowed")
            bench.gateway.next("approval.resolve", ok(#"{"applied":false}"#))
            #expect(try await bench.decide("c", .deny, on: loop) == "ended unknown")
        }
    }

    @Test func `a link without the scope sees nothing and says so`() async throws {
        try await withServices { bench, loop in
            let text = """
                {"type":"hello-ok","protocol":4,"features":{"methods":["exec.approval.list","exec.approval.resolve"]},\
                "auth":{"scopes":["operator.read","operator.write"]}}
                """
            let hello = try #require(Hello(json(text), requested: ["operator.read", "operator.write"]))
            try await bench.open(hello, on: loop)
            #expect(bench.services.approvals.sight == .scopeMissing)
            #expect(bench.gateway.requests("exec.approval.list").isEmpty)
        }
    }

    @Test func `a release without the call is no question of scopes`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["exec.approval.list"], on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            #expect(try await bench.decide("a", .deny, on: loop) == "unsupported")
        }
    }
}
