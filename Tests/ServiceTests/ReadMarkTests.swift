import Basics
import EventLoops
import Gateway
import Runs
import Store
import Testing

@testable import Service

struct ReadMarkTests {
    private static let session = "agent:main:den"

    private func put(_ id: String, _ role: String, at: Int64, in bench: ServiceBench, on loop: isolated EventLoop)
        async throws
    {
        let role = try #require(ChatMessage.Role(rawValue: role))
        let message = ChatMessage(id: id, role: role, text: "x", at: Timestamp(milliseconds: at))
        bench.services.feed.commit(on: loop) { transaction in
            try transaction.messages.save(message, session: Self.session, asOf: Timestamp(milliseconds: at))
        } completion: { _ in
        }
        try await bench.settle(on: loop)
    }

    private func mark(
        _ reader: String,
        _ message: String?,
        in bench: ServiceBench,
        on loop: isolated EventLoop
    ) async throws -> Bool {
        var found = false
        bench.services.readMarks.set(reader, in: Self.session, to: message, on: loop) {
            found = (try? $0.get()) ?? false
        }
        try await bench.settle(on: loop)
        return found
    }

    @Test func `each reader has a mark, which counts answers and never moves back`() async throws {
        try await withServices { bench, loop in
            let marks = bench.services.readMarks
            try await put("u1", "user", at: 1_000, in: bench, on: loop)
            try await put("a1", "assistant", at: 2_000, in: bench, on: loop)
            try await put("a2", "assistant", at: 3_000, in: bench, on: loop)
            #expect(marks.unread(by: "owner", in: Self.session) == nil)
            #expect(try await mark("owner", "a1", in: bench, on: loop))
            #expect(marks.unread(by: "owner", in: Self.session) == 1)
            #expect(marks.unread(by: "token:x", in: Self.session) == nil)
            #expect(try await mark("token:x", nil, in: bench, on: loop))
            #expect(marks.unread(by: "token:x", in: Self.session) == 0)
            #expect(try await mark("token:x", "u1", in: bench, on: loop))
            #expect(marks.unread(by: "token:x", in: Self.session) == 0)
            #expect(try await !mark("owner", "of another session", in: bench, on: loop))
            let answer = ChatMessage(
                id: "a3",
                role: .assistant,
                text: "x",
                at: Timestamp(milliseconds: 4_000),
                state: .sent
            )
            marks.said(answer, in: Self.session)
            #expect(marks.unread(by: "owner", in: Self.session) == 2)
            #expect(marks.unread(by: "token:x", in: Self.session) == 1)
            // Another conversation, in which nothing is unread.
            marks.begin(Self.session)
            #expect(marks.unread(by: "owner", in: Self.session) == 0)
        }
    }

    @Test func `marks survive a restart`() async throws {
        try await withServices { bench, loop in
            try await put("a1", "assistant", at: 2_000, in: bench, on: loop)
            try await put("a2", "assistant", at: 3_000, in: bench, on: loop)
            #expect(try await mark("owner", "a1", in: bench, on: loop))
            let next = ReadMarks(feed: bench.services.feed, events: bench.services.events)
            next.load(on: loop)
            try await bench.settle(on: loop)
            #expect(next.unread(by: "owner", in: Self.session) == 1)
        }
    }
}
