import EventLoops
import JSONBytes
import Testing

@testable import Service

struct KeptTranscriptTests {
    private static let page =
        #"{"sessionId":"a","messages":[{"role":"user","content":"one","timestamp":1794999600000,"id":"r1"}]}"#

    private func read(_ bench: ServiceBench, refresh: Bool = false, on loop: isolated EventLoop) async throws -> Int {
        var count = -1
        let query = MessagePages.Query(session: "agent:main:main", limit: 10, before: nil, after: nil)
        loop.start {
            let page = try? await bench.services.messagePages.read(query, refresh: refresh, on: loop)
            count = page?.messages.count ?? -1
        }
        try await bench.settle(on: loop)
        return count
    }

    private func pages(_ bench: ServiceBench) -> Int { bench.gateway.requests("chat.history").count }

    private func linked(
        _ methods: [String],
        _ test: @escaping @Sendable (ServiceBench, isolated EventLoop) async throws -> Void
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: methods, on: loop)
            bench.gateway.responder = { $0.method == "chat.history" ? .now(ok(Self.page)) : nil }
            try await test(bench, loop)
        }
    }

    @Test func `a second reader asks nobody, until something happens in the session`() async throws {
        try await linked(["sessions.subscribe"]) { bench, loop in
            for _ in 0..<5 { #expect(try await read(bench, on: loop) == 1) }
            #expect(pages(bench) == 1)
            // Text deltas change no row; neither does another session.
            let delta = #"{"runId":"r","sessionKey":"agent:main:main","state":"delta","deltaText":"x"}"#
            try await bench.event("chat", delta, on: loop)
            let other = #"{"sessionKey":"agent:main:den","message":{"role":"user","content":"x"},"messageId":"m"}"#
            try await bench.event("session.message", other, on: loop)
            #expect(try await read(bench, on: loop) == 1)
            #expect(pages(bench) == 1)
            let row = #"{"sessionKey":"main","message":{"role":"user","content":"two"},"messageId":"m2"}"#
            try await bench.event("session.message", row, on: loop)
            #expect(try await read(bench, on: loop) == 1)
            #expect(pages(bench) == 2)
            // Rows are written a moment after their events, so such a page is not kept for long.
            try await bench.advance(500, on: loop)
            #expect(try await read(bench, on: loop) == 1)
            #expect(pages(bench) == 3)
            #expect(try await read(bench, refresh: true, on: loop) == 1)
            #expect(pages(bench) == 4)
        }
    }

    @Test func `a gateway that stalls makes the reader of a page wait two seconds`() async throws {
        try await linked([]) { bench, loop in
            #expect(try await read(bench, on: loop) == 1)
            try await bench.advance(60_000, on: loop)
            bench.gateway.responder = nil
            bench.gateway.silent = ["chat.history"]
            var pages: [MessagePages.Page] = []
            for session in ["agent:main:main", "agent:main:new"] {
                let query = MessagePages.Query(session: session, limit: 10, before: nil, after: nil)
                loop.start {
                    if let page = try? await bench.services.messagePages.read(query, on: loop) { pages.append(page) }
                }
            }
            try await bench.advance(1_999, on: loop)
            #expect(pages.isEmpty)
            try await bench.advance(1, on: loop)
            // Of the other session nothing is kept.
            #expect(pages.map(\.isLive) == [false])
            #expect(pages.first?.messages.count == 1)
            #expect(pages.first?.asOf != nil)
        }
    }

    @Test func `a page is given for half a minute, and for two seconds where no event tells of rows`() async throws {
        for (methods, life) in [(["sessions.subscribe"], Int64(30_000)), ([], 2_000)] {
            try await linked(methods) { bench, loop in
                #expect(try await read(bench, on: loop) == 1)
                try await bench.advance(life - 1, on: loop)
                #expect(try await read(bench, on: loop) == 1)
                #expect(pages(bench) == 1)
                try await bench.advance(1, on: loop)
                #expect(try await read(bench, on: loop) == 1)
                #expect(pages(bench) == 2)
            }
        }
    }

    @Test func `a page that was on its way while something happened is not kept`() async throws {
        try await linked(["sessions.subscribe"]) { bench, loop in
            bench.gateway.responder = { _ in nil }
            bench.gateway.silent = ["chat.history"]
            let query = MessagePages.Query(session: "agent:main:main", limit: 10, before: nil, after: nil)
            loop.start { _ = try? await bench.services.messagePages.read(query, on: loop) }
            try await bench.settle(on: loop)
            let row = #"{"sessionKey":"main","message":{"role":"user","content":"two"},"messageId":"m2"}"#
            try await bench.event("session.message", row, on: loop)
            bench.gateway.answer("chat.history", ok(Self.page))
            try await bench.settle(on: loop)
            loop.start { _ = try? await bench.services.messagePages.read(query, on: loop) }
            try await bench.settle(on: loop)
            #expect(pages(bench) == 2)
        }
    }
}
