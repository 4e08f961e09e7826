import EventLoops
import Gateway
import JSONBytes
import Testing

@testable import Service

struct TranscriptReaderTests {
    /// Asks and notes how many rows came, -1 for a failure.
    private final class Answers {
        var rows: [Int] = []

        func ask(_ bench: ServiceBench, _ session: String = "a", rows wanted: Int, on loop: isolated EventLoop) {
            bench.services.transcript.read(session, rows: wanted, on: loop) { [self] page in
                rows.append((try? page.get().messageCount) ?? -1)
            }
        }
    }

    @Test func `at most one page of a session is under way, sessions do not wait for each other`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.history"]
            let answers = Answers()
            for session in ["a", "a", "b", "a"] { answers.ask(bench, session, rows: 10, on: loop) }
            try await bench.settle(on: loop)
            #expect(bench.gateway.requests("chat.history").map { $0["sessionKey"] } == ["a", "b"])
        }
    }

    @Test func `questions that come meanwhile share the next page, as long as the longest wish`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.silent = ["chat.history"]
            bench.gateway.rows["a"] = [Row.user("hello")]
            let answers = Answers()
            for rows in [10, 20, 200, 50] { answers.ask(bench, rows: rows, on: loop) }
            try await bench.settle(on: loop)
            bench.gateway.answer("chat.history")
            try await bench.settle(on: loop)
            #expect(answers.rows == [1])
            #expect(bench.gateway.requests("chat.history").map { $0.params["limit"]?.int } == [10, 200])
            bench.gateway.answer("chat.history")
            try await bench.settle(on: loop)
            #expect(answers.rows == [1, 1, 1, 1])
            #expect(bench.gateway.requests("chat.history").count == 2)
        }
    }

    @Test func `a failed page fails its own questions only`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.history", refused("UNAVAILABLE"))
            let answers = Answers()
            answers.ask(bench, rows: 10, on: loop)
            answers.ask(bench, rows: 10, on: loop)
            try await bench.settle(on: loop)
            #expect(answers.rows == [-1, 0])
        }
    }

    @Test func `without a gateway every question fails and the next one is asked anew`() async throws {
        try await withServices { bench, loop in
            let answers = Answers()
            answers.ask(bench, rows: 10, on: loop)
            try await bench.settle(on: loop)
            #expect(answers.rows == [-1])
            try await bench.open(on: loop)
            answers.ask(bench, rows: 10, on: loop)
            try await bench.settle(on: loop)
            #expect(answers.rows == [-1, 0])
        }
    }
}
