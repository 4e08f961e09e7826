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

/// Approvals through faults of the link, of Ladle and of the gateway.
struct ApprovalServiceTests {
    @Test func `a decision goes out at once, and its end is one event`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.services.approvals.sight == .unanswered)
            try await bench.asks(Asked.exec("a", "ls -la"), on: loop)
            #expect(bench.services.approvals.pendingCount() == 1)
            // Sent in the same turn, before anything is written.
            bench.journal.hold()
            var answer: String?
            bench.services.approvals.decide("a", .allowOnce, by: "kitchen", on: loop) {
                answer = ServiceBench.word($0)
            }
            let sent = try #require(bench.gateway.requests("exec.approval.resolve").first)
            #expect(sent["id"] == "a")
            #expect(sent["decision"] == "allow-once")
            try await bench.settle(on: loop)
            #expect(answer == nil)
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(answer == "decided allowed")
            try await bench.ends(Asked.resolved("a", "allow-once", by: "Ladle"), on: loop)
            #expect(bench.states(of: "a") == ["pending", "allowed"])
            let last = try #require(bench.data("approval").last?["approval"])
            #expect(last["decidedBy"]?.string == "kitchen")
            #expect(last["via"]?.string == "ladle")
            #expect(last["decisions"]?.count == 0)
            #expect(try await bench.decide("a", .allowOnce, on: loop) == "decided allowed")
            #expect(try await bench.decide("a", .deny, on: loop) == "ended allowed")
            #expect(bench.gateway.requests("exec.approval.resolve").count == 1)
            #expect(bench.services.approvals.pendingCount() == 0)
        }
    }

    @Test func `the waiting step and the approval name each other`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.services.approvals.sight == .whole)
            try await bench.event("agent", Frame.start("r"), on: loop)
            try await bench.event("agent", Frame.tool("r", 2, "start"), on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            let step = try #require(bench.data("run.step").last?["step"])
            #expect(step["state"]?.string == "waiting")
            #expect(step["approvalId"]?.string == "a")
            #expect(step["detail"]?.string?.contains("POST /v1/approvals/a") == true)
            #expect(bench.data("approval").last?["runId"]?.string == "r")
            #expect(bench.data("approval").last?["approval"]?["runId"]?.string == "r")
            try await bench.ends(Asked.resolved("a", "deny"), on: loop)
            #expect(bench.data("run.step").last?["step"]?["approvalId"] == nil)
        }
    }

    @Test func `a lost answer is told, and the event settles it`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            bench.gateway.next("exec.approval.resolve", .ambiguous(.timedOut))
            #expect(try await bench.decide("a", .allowOnce, on: loop) == "failed unanswered")
            #expect(bench.states(of: "a") == ["pending"])
            try await bench.ends(Asked.resolved("a", "allow-once", by: "Ladle"), on: loop)
            #expect(bench.states(of: "a") == ["pending", "allowed"])
            #expect(bench.data("approval").last?["approval"]?["via"]?.string == "ladle")
        }
    }

    @Test func `a link that is lost with the decision leaves it to the list`() async throws {
        for isStillListed in [true, false] {
            try await withServices { bench, loop in
                try await bench.open(methods: Asked.listing, on: loop)
                try await bench.asks(Asked.exec("a"), on: loop)
                bench.gateway.silent = ["exec.approval.resolve"]
                var answer: String?
                bench.services.approvals.decide("a", .allowOnce, by: "o", on: loop) { answer = ServiceBench.word($0) }
                try await bench.drop(on: loop)
                #expect(answer == "failed unanswered")
                bench.gateway.silent = []
                bench.gateway.next("exec.approval.list", ok(isStillListed ? "[\(Asked.exec("a"))]" : "[]"))
                try await bench.open(methods: Asked.listing, on: loop)
                #expect(bench.states(of: "a") == (isStillListed ? ["pending"] : ["pending", "unknown"]))
                guard isStillListed else { return }
                #expect(try await bench.decide("a", .allowOnce, on: loop) == "decided allowed")
            }
        }
    }

    @Test func `somebody who decides first is named`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            bench.gateway.silent = ["exec.approval.resolve"]
            var answers: [String] = []
            for decision in [Approval.Decision.allowOnce, .deny] {
                bench.services.approvals.decide("a", decision, by: "o", on: loop) {
                    answers.append(ServiceBench.word($0))
                }
            }
            #expect(bench.gateway.requests("exec.approval.resolve").count == 1)
            try await bench.ends(Asked.resolved("a", "deny"), on: loop)
            #expect(answers == ["ended denied", "decided denied"])
            let reason = #","details":{"reason":"APPROVAL_ALREADY_RESOLVED"}"#
            bench.gateway.answer("exec.approval.resolve", refused("INVALID_REQUEST", more: reason))
            try await bench.settle(on: loop)
            #expect(bench.states(of: "a") == ["pending", "denied"])
            #expect(bench.data("approval").last?["approval"]?["decidedBy"]?.string == "phone")
        }
    }

    @Test func `2026_3_1 has no list and lives two minutes`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Asked.march, on: loop)
            #expect(bench.services.approvals.sight == .unlisted)
            try await bench.asks(Asked.exec("a", lifeMs: 120_000, more: #","ask":"always""#), on: loop)
            #expect(try await bench.decide("a", .allowAlways, on: loop) == #"not offered ["allow-once", "deny"]"#)
            #expect(bench.gateway.requests("exec.approval.resolve").isEmpty)
            try await bench.advance(119_499, on: loop)
            #expect(bench.services.approvals.waiting(on: loop).count == 1)
            try await bench.advance(1, on: loop)
            #expect(try await bench.decide("a", .deny, on: loop) == "too late")
            try await bench.advance(1_500, on: loop)
            #expect(bench.states(of: "a") == ["pending", "expired"])
            #expect(try await bench.decide("a", .deny, on: loop) == "too late")
        }
    }

    @Test func `the gateway's clock decides, not ours`() async throws {
        try await withServices { bench, loop in
            bench.gateway.clockSkewMs = 3_600_000
            try await bench.open(version: 3, methods: Asked.march, on: loop)
            let created = ManualClock.start.adding(milliseconds: 3_600_000)
            try await bench.asks(Asked.exec("a", at: created, lifeMs: 120_000), on: loop)
            try await bench.advance(119_000, on: loop)
            #expect(bench.states(of: "a") == ["pending"])
            try await bench.advance(2_000, on: loop)
            #expect(bench.states(of: "a") == ["pending", "expired"])
        }
    }

    @Test func `a clock that is set forward ends nothing`() async throws {
        for version in [3, 4] {
            try await withServices { bench, loop in
                bench.gateway.responder = { $0.method == "exec.approval.list" ? .now(ok("[\(Asked.exec("a"))]")) : nil }
                try await bench.open(version: version, methods: version == 3 ? Asked.march : Asked.listing, on: loop)
                try await bench.asks(Asked.exec("a"), on: loop)
                bench.clock.set(forwardMs: 7_200_000)
                #expect(bench.services.approvals.waiting(on: loop).map(\.state) == [.pending])
                try await bench.advance(60_000, on: loop)
                #expect(bench.states(of: "a") == ["pending"])
                #expect(try await bench.decide("a", .deny, on: loop) == "decided denied")
            }
        }
    }

    @Test func `the end of the time is asked for where there is a list`() async throws {
        for isListed in [true, false] {
            try await withServices { bench, loop in
                var rows = "[]"
                bench.gateway.responder = { $0.method == "exec.approval.list" ? .now(ok(rows)) : nil }
                try await bench.open(methods: Asked.listing, on: loop)
                try await bench.asks(Asked.exec("a", lifeMs: 60_000), on: loop)
                if isListed { rows = "[\(Asked.exec("a", lifeMs: 60_000))]" }
                try await bench.advance(62_000, on: loop)
                #expect(bench.states(of: "a") == (isListed ? ["pending"] : ["pending", "expired"]))
                #expect(bench.gateway.requests("exec.approval.list").count == 2)
                guard isListed else { return }
                rows = "[]"
                try await bench.advance(31_000, on: loop)
                #expect(bench.states(of: "a") == ["pending", "unknown"])
            }
        }
    }

    @Test func `an end of our own reaches the step that waits`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Asked.march, on: loop)
            try await bench.event("agent", Frame.start("r"), on: loop)
            try await bench.event("agent", Frame.tool("r", 2, "start"), on: loop)
            try await bench.asks(Asked.exec("a", lifeMs: 120_000), on: loop)
            try await bench.asks(Asked.exec("b", "ls", lifeMs: 240_000), on: loop)
            #expect(bench.steps(waitingFor: "a") == ["waiting"])
            try await bench.advance(121_500, on: loop)
            #expect(bench.states(of: "a") == ["pending", "expired"])
            let run = try #require(bench.services.runs.run("r"))
            // The run's other approval is still pending.
            #expect(run.steps.filter { $0.state == .waiting }.map(\.approvalID) == ["b"])
            #expect(!run.steps.contains { $0.label.hasPrefix("Approved") || $0.label.hasPrefix("Denied") })
            // An unknown decision claims nothing either.
            try await bench.ends(#"{"id":"b","decision":"perhaps"}"#, on: loop)
            #expect(bench.states(of: "b") == ["pending", "unknown"])
            let last = try #require(bench.services.runs.run("r")?.steps.last)
            #expect(last.state == .done)
            #expect(last.label.hasPrefix("Asked for approval: "))
        }
    }

    @Test func `an answer about an earlier question leaves the later one alone`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a", "ls"), on: loop)
            bench.gateway.silent = ["exec.approval.resolve"]
            var answers: [String] = []
            bench.services.approvals.decide("a", .deny, by: "o", on: loop) { answers.append(ServiceBench.word($0)) }
            // Before the end of the first approval is durable, somebody decides about the second.
            bench.journal.hold()
            try await bench.asks(Asked.exec("a", "rm", at: ManualClock.start.adding(milliseconds: 5)), on: loop)
            bench.services.approvals.decide("a", .allowOnce, by: "o", on: loop) {
                answers.append(ServiceBench.word($0))
            }
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(answers == ["ended unknown"])
            bench.gateway.answer("exec.approval.resolve", refused("UNAVAILABLE"))
            try await bench.settle(on: loop)
            #expect(answers == ["ended unknown"])
            bench.gateway.answer("exec.approval.resolve", ok("{}"))
            try await bench.settle(on: loop)
            #expect(answers == ["ended unknown", "decided allowed"])
        }
    }

    @Test func `a decision about another question than the one that was shown is not sent`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            var hashes: [String] = []
            for place in ["/home/sam", "/"] {
                try await bench.asks(Asked.exec("a", "rm -rf x", more: #","cwd":"\#(place)""#), on: loop)
                hashes.append(try #require(bench.services.approvals.item("a", on: loop)?.commandSHA256))
            }
            #expect(bench.states(of: "a") == ["pending", "unknown", "pending"])
            var answers: [String] = []
            for hash in hashes {
                bench.services.approvals.decide("a", .deny, of: hash, by: "o", on: loop) {
                    answers.append(ServiceBench.word($0))
                }
                try await bench.settle(on: loop)
            }
            #expect(answers == ["changed", "decided denied"])
            #expect(bench.gateway.requests("exec.approval.resolve").count == 1)
        }
    }

    @Test func `an approval that ended before a restart stays ended, whatever the list shows`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            // The gateway's time does not decide how long Ladle keeps the row.
            try await bench.ends(Asked.resolved("a", "deny", at: Timestamp(milliseconds: 1_000_000_000_000)), on: loop)
            try await bench.restart(on: loop)
            bench.gateway.next("exec.approval.list", ok("[\(Asked.exec("a"))]"))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.states(of: "a") == [])
            let row = try await bench.journal.read { try $0.approvals.approval(id: "a") }
            #expect(row?.endedAt == ManualClock.start)
        }
    }

    @Test func `without a list another process of the gateway has none of the old approvals`() async throws {
        for (shutdown, state) in [(false, "unknown"), (true, "cancelled")] {
            try await withServices { bench, loop in
                try await bench.open(version: 3, methods: Asked.march, on: loop)
                try await bench.asks(Asked.exec("a"), on: loop)
                if shutdown { try await bench.event("shutdown", #"{"reason":"restart"}"#, on: loop) }
                try await bench.drop(on: loop)
                #expect(bench.services.approvals.waiting(on: loop).map(\.state) == [.unknown])
                try await bench.advance(5_000, on: loop)
                try await bench.open(version: 3, uptimeMs: 1_000, methods: Asked.march, on: loop)
                #expect(bench.states(of: "a") == ["pending", state])
            }
        }
    }

    @Test func `a short break of 2026_3_1 leaves it waiting, and its end unknown`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Asked.march, on: loop)
            try await bench.asks(Asked.exec("a", lifeMs: 120_000), on: loop)
            try await bench.drop(on: loop)
            try await bench.open(version: 3, methods: Asked.march, on: loop)
            #expect(bench.services.approvals.waiting(on: loop).map(\.state) == [.pending])
            try await bench.advance(121_000, on: loop)
            #expect(bench.states(of: "a") == ["pending", "unknown"])
        }
    }

    @Test func `a pending approval survives a kill, and ends once`() async throws {
        for isListed in [true, false] {
            try await withServices { bench, loop in
                bench.gateway.next("exec.approval.list", ok("[]"))
                try await bench.open(methods: Asked.listing, on: loop)
                let more = #","warningText":"w","env":{"A":"1"},"cwd":"/tmp","commandAnalysis":{"riskKinds":["x"]}"#
                let row = Asked.exec("a", "ls -la", more: more)
                try await bench.asks(row, on: loop)
                let asked = bench.services.approvals.waiting(on: loop).first
                try await bench.kill(on: loop)
                var waiting = try #require(bench.services.approvals.waiting(on: loop).first)
                #expect(waiting.state == .unknown)
                waiting.state = .pending
                #expect(waiting == asked)
                let rows = isListed ? "[\(row)]" : "[]"
                bench.gateway.next("exec.approval.list", ok(rows))
                // The stored command's hash equals that of the listed one.
                try await bench.open(methods: Asked.listing, on: loop)
                #expect(bench.states(of: "a") == (isListed ? [] : ["unknown"]))
                if isListed { #expect(try await bench.decide("a", .deny, on: loop) == "decided denied") }
                try await bench.restart(on: loop)
                #expect(bench.services.approvals.waiting(on: loop).isEmpty)
            }
        }
    }

    @Test func `an end that the disk did not take is told again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            bench.journal.hold()
            try await bench.ends(Asked.resolved("a", "deny"), on: loop)
            try await bench.kill(on: loop)
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(bench.states(of: "a") == ["unknown"])
        }
    }

    @Test func `a disk that takes nothing does not hold a decision back`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            bench.journal.failWrites(.storageFull)
            #expect(try await bench.decide("a", .deny, on: loop) == "decided denied")
            bench.journal.failWrites(nil)
        }
    }

    @Test func `the run's abort cancels what the list has no more`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"), ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.event("agent", Frame.start("r"), on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            try await bench.event("chat", Frame.end("r", "aborted"), on: loop)
            #expect(bench.states(of: "a") == ["pending", "cancelled"])
        }
    }

    @Test func `a refusal for good names what is left`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            try await bench.asks(Asked.exec("a"), on: loop)
            let reason = #","details":{"reason":"APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"}"#
            bench.gateway.next("exec.approval.resolve", refused("INVALID_REQUEST", more: reason))
            #expect(try await bench.decide("a", .allowAlways, on: loop) == #"not offered ["allow-once", "deny"]"#)
            #expect(bench.states(of: "a") == ["pending"])
            bench.gateway.next("exec.approval.resolve", refused("INVALID_REQUEST", "unknown approval id"))
            #expect(try await bench.decide("a", .deny, on: loop) == "ended unknown")
        }
    }

    @Test func `a page of ended ones comes from memory and disk without a gap`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            try await bench.open(methods: Asked.listing, on: loop)
            for number in 0..<100 {
                let created = loop.wallClock
                try await bench.asks(Asked.exec("a\(number)", at: created), on: loop)
                if number < 99 { try await bench.ends(Asked.resolved("a\(number)", "deny", at: created), on: loop) }
                try await bench.advance(10, on: loop)
            }
            var seen: [String] = []
            var before: String?
            repeat {
                let query = ApprovalReader.Query(
                    sessions: [nil],
                    filter: .all,
                    kind: nil,
                    before: before,
                    limit: 7
                )
                let found = try #require(try await bench.services.approvalReader.page(query, on: loop))
                seen += found.approvals.map(\.id)
                before = found.hasMore ? found.approvals.last?.id : nil
            } while before != nil
            #expect(seen == (0..<100).reversed().map { "a\($0)" })
        }
    }

    /// Decisions, kills of Ladle, breaks of the link and restarts of the gateway, a hundred rounds.
    @Test(arguments: [1, 2]) func `a hundred faults apply each decision at most once and end each approval once`(
        seed: UInt64
    ) async throws {
        try await withServices { bench, loop in
            var random = SeededRandom(seed)
            // The gateway's memory: pending approvals, and the number of decisions applied to each.
            var waiting: [String: String] = [:]
            var applied: [String: Int] = [:]
            let gateway = bench.gateway
            gateway.responder = { request in
                switch request.method {
                case "exec.approval.list":
                    return .now(ok("[\(waiting.sorted { $0.key < $1.key }.map(\.value).joined(separator: ","))]"))
                case "exec.approval.resolve":
                    guard let id = request["id"], waiting.removeValue(forKey: id) != nil else {
                        return .now(refused("INVALID_REQUEST", "unknown or expired approval id"))
                    }
                    applied[id, default: 0] += 1
                    // Sometimes the answer is lost with the link.
                    return random.next() % 3 == 0 ? .later : .now(ok(#"{"ok":true}"#))
                default: return nil
                }
            }
            var uptime: Int64 = 1_000_000
            try await bench.open(uptimeMs: uptime, methods: Asked.listing, on: loop)
            for round in 0..<100 {
                let id = "a\(round)"
                let row = Asked.exec(id, at: loop.wallClock)
                waiting[id] = row
                if random.next() % 4 != 0 { try await bench.asks(row, on: loop) }
                let decision: Approval.Decision = random.next() % 2 == 0 ? .deny : .allowOnce
                bench.services.approvals.decide(id, decision, by: "owner", on: loop) { _ in }
                if random.next() % 2 == 0 { try await bench.settle(on: loop) }
                switch random.next() % 4 {
                case 0: try await bench.drop(on: loop)
                case 1: try await bench.kill(on: loop)
                case 2:
                    try await bench.event("shutdown", "{}", on: loop)
                    try await bench.drop(on: loop)
                    waiting = [:]
                    uptime = -bench.clock.elapsedMs
                default: continue
                }
                try await bench.advance(1_000, on: loop)
                let age = uptime + bench.clock.elapsedMs
                try await bench.open(uptimeMs: age, methods: Asked.listing, on: loop)
            }
            waiting = [:]
            try await bench.advance(2_000_000, on: loop)
            #expect(applied.values.allSatisfy { $0 == 1 })
            let epoch = bench.journal.newest.epoch
            let log = try await bench.journal.read { tables in
                try tables.events.page(after: .init(epoch: epoch, sequence: 0), limit: 100_000, bytes: 1 << 30)
            }
            var asked: [String: Int] = [:]
            var ended: [String: Int] = [:]
            for event in log.events where event.type == "approval" {
                let approval = try #require(try JSONDocument(parsing: event.data).root["approval"])
                let id = try #require(approval["id"]?.string)
                if approval["state"]?.string == "pending" {
                    asked[id, default: 0] += 1
                } else {
                    ended[id, default: 0] += 1
                }
                // A decision that was carried out is never shown as denied, expired or cancelled, and none is shown as
                // allowed that was not.
                if let state = approval["state"]?.string, ["allowed", "denied"].contains(state) {
                    #expect(applied[id] == 1)
                }
                if let state = approval["state"]?.string, ["expired", "cancelled"].contains(state) {
                    #expect(applied[id] == nil)
                }
            }
            #expect(asked.count > 50)
            #expect(asked.values.allSatisfy { $0 == 1 })
            #expect(ended == asked)
            #expect(bench.services.approvals.waiting(on: loop).isEmpty)
        }
    }
}
