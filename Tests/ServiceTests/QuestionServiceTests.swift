import Basics
import EventLoops
import Gateway
import JSONBytes
import Runs
import Service
import TestSupport
import Testing
import Upstream

/// Questions through faults of the link, of Ladle and of the gateway.
struct QuestionServiceTests {
    private static let red = ["colour": ["red"]]

    private func open(_ bench: ServiceBench, _ rows: String = "", on loop: isolated EventLoop) async throws {
        bench.gateway.next("exec.approval.list", ok("[]"))
        bench.gateway.next("question.list", ok(#"{"questions":[\#(rows)]}"#))
        try await bench.open(methods: Asked.newest, on: loop)
    }

    @Test func `an answer goes out at once, and its end is one event`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            #expect(bench.services.questions.sight == .whole)
            try await bench.asksPeople(Asked.question("q"), on: loop)
            bench.journal.hold()
            var word: String?
            try bench.services.questions.answer("q", Self.red, by: "kitchen", on: loop) {
                word = ServiceBench.word($0)
            }
            let sent = try #require(bench.gateway.requests("question.resolve").first)
            #expect(sent["id"] == "q")
            #expect(sent.params["answers"]?["answers"]?["colour"]?[0]?.string == "red")
            try await bench.settle(on: loop)
            #expect(word == nil)
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(word == "answered answered")
            let told = #"{"id":"q","status":"answered","answers":{"colour":["red"]},"resolvedBy":"Ladle"}"#
            try await bench.event("question.resolved", told, on: loop)
            #expect(bench.questionStates(of: "q") == ["pending", "answered"])
            let last = try #require(bench.data("question").last?["question"])
            #expect(last["endedBy"]?.string == "kitchen" && last["via"]?.string == "ladle")
            #expect(last["questions"]?[0]?["answers"]?[0]?.string == "red")
            #expect(try await bench.answer("q", Self.red, on: loop) == "answered answered")
            #expect(try await bench.answer("q", ["colour": ["green"]], on: loop) == "ended answered")
            #expect(try await bench.answer("q", nil, on: loop) == "ended answered")
            #expect(try await bench.answer("other", nil, on: loop) == "not found")
            #expect(bench.gateway.requests("question.resolve").count == 1)
        }
    }

    @Test func `a release with another form of answers gets it at the second try`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            for id in ["a", "b"] {
                try await bench.asksPeople(Asked.question(id), on: loop)
                if id == "a" {
                    let words = "invalid question.resolve params: at /answers: unexpected property 'answers'"
                    bench.gateway.next("question.resolve", refused("INVALID_REQUEST", words))
                }
                #expect(try await bench.answer(id, Self.red, on: loop) == "answered answered")
            }
            let sent = bench.gateway.requests("question.resolve")
            #expect(sent.map { $0.params["answers"]?["colour"]?[0]?.string } == [nil, "red", "red"])
            // No loop if both forms are refused.
            try await bench.asksPeople(Asked.question("c"), on: loop)
            for _ in 0..<3 {
                bench.gateway.next("question.resolve", refused("INVALID_REQUEST", "invalid question.resolve params: x"))
            }
            #expect(try await bench.answer("c", Self.red, on: loop).hasPrefix("failed refused"))
            #expect(bench.gateway.requests("question.resolve").count == 5)
            #expect(bench.questionStates(of: "c") == ["pending"])
        }
    }

    @Test func `a lost answer is told, and the event settles it`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.asksPeople(Asked.question("q"), on: loop)
            bench.gateway.next("question.resolve", .ambiguous(.timedOut))
            #expect(try await bench.answer("q", Self.red, on: loop) == "failed unanswered")
            #expect(bench.questionStates(of: "q") == ["pending"])
            try await bench.event(
                "question.resolved",
                #"{"id":"q","status":"answered","resolvedBy":"Ladle"}"#,
                on: loop
            )
            #expect(bench.questionStates(of: "q") == ["pending", "answered"])
            #expect(bench.data("question").last?["question"]?["via"]?.string == "ladle")
        }
    }

    @Test func `after a break the list decides, and what it does not show is unknown`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            for id in ["a", "b"] { try await bench.asksPeople(Asked.question(id), on: loop) }
            try await bench.drop(on: loop)
            #expect(bench.services.questions.all(on: loop).map(\.state) == [.unknown, .unknown])
            #expect(try await bench.answer("a", Self.red, on: loop) == "failed notConnected")
            try await open(bench, Asked.question("a"), on: loop)
            #expect(bench.questionStates(of: "a") == ["pending"])
            #expect(bench.questionStates(of: "b") == ["pending", "unknown"])
            // After a restart only the list shows the earlier questions.
            try await bench.restart(on: loop)
            #expect(bench.services.questions.all(on: loop).isEmpty)
            try await open(bench, Asked.question("a"), on: loop)
            #expect(bench.services.questions.all(on: loop).map(\.id) == ["a"])
            #expect(bench.questionStates(of: "a") == ["pending"])
        }
    }

    @Test func `somebody who answers first is named`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.asksPeople(Asked.question("q"), on: loop)
            bench.gateway.silent = ["question.resolve"]
            var word: String?
            try bench.services.questions.answer("q", Self.red, by: "o", on: loop) { word = ServiceBench.word($0) }
            let told =
                #"{"id":"q","status":"answered","answers":{"answers":{"colour":["green"]}},"resolvedBy":"phone"}"#
            try await bench.event("question.resolved", told, on: loop)
            #expect(word == "ended answered")
            let last = try #require(bench.data("question").last?["question"])
            #expect(last["endedBy"]?.string == "phone" && last["via"]?.string == "other")
            #expect(last["questions"]?[0]?["answers"]?[0]?.string == "green")
        }
    }

    @Test func `the gateway says that it is too late`() async throws {
        try await withServices { bench, loop in
            try await open(bench, on: loop)
            try await bench.asksPeople(Asked.question("q"), on: loop)
            let gone = #","details":{"reason":"QUESTION_NOT_FOUND"}"#
            bench.gateway.next("question.resolve", refused("INVALID_REQUEST", "unknown", more: gone))
            #expect(try await bench.answer("q", Self.red, on: loop) == "ended unknown")
            try await bench.asksPeople(Asked.question("late", at: loop.wallClock, lifeMs: 1_000), on: loop)
            try await bench.advance(600, on: loop)
            #expect(try await bench.answer("late", Self.red, on: loop) == "too late")
            bench.gateway.next("question.list", ok(#"{"questions":[]}"#))
            try await bench.advance(5_000, on: loop)
            #expect(bench.questionStates(of: "late") == ["pending", "expired"])
        }
    }

    @Test func `a list that fails is asked for again`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("exec.approval.list", ok("[]"))
            bench.gateway.next("question.list", .ambiguous(.timedOut))
            try await bench.open(methods: Asked.newest, on: loop)
            #expect(bench.services.questions.sight == .unanswered)
            bench.gateway.next("question.list", ok("[\(Asked.question("q"))]"))
            try await bench.advance(3_000, on: loop)
            #expect(bench.services.questions.sight == .whole)
            #expect(bench.services.questions.all(on: loop).map(\.id) == ["q"])
        }
    }

    @Test func `a link without the scope does not ask`() async throws {
        try await withServices { bench, loop in
            let text = """
                {"type":"hello-ok","protocol":4,"features":{"methods":["question.list","question.resolve"]},\
                "auth":{"scopes":["operator.read","operator.write","operator.approvals"]}}
                """
            let scopes = ["operator.read", "operator.write", "operator.approvals"]
            try await bench.open(try #require(Hello(json(text), requested: scopes)), on: loop)
            #expect(bench.services.questions.sight == .scopeMissing)
            #expect(bench.gateway.requests("question.list").isEmpty)
            try await bench.open(methods: Asked.listing, on: loop)
            #expect(!bench.services.questions.isSupported)
        }
    }
}
