import Basics
import EventLoops
import EventStream
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import API

/// A client that waits for an answer while the gateway is restarted and goes on with the run under another id.
struct ContinuedRunTests {
    private static let main = ServiceBench.main

    /// Opens a waiting request, and has the gateway killed in its run and go on with it.
    private func interrupt(
        _ request: (String, [String]),
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> MemoryRequest {
        let bench = api.bench
        try await bench.open(on: loop)
        let waiting = try await api.open("POST", request.0, Field.text + request.1, body: "hello", on: loop)
        let id = try #require(bench.gateway.sentKeys.last)
        try await bench.event("agent", Frame.start(id, at: loop.wallClock.milliseconds), on: loop)
        try await bench.event("agent", Frame.text(id, 2, "Half an"), on: loop)
        bench.gateway.rows[Self.main] = [Row.user("hello", key: id, id: "u1", at: loop.wallClock.milliseconds)]
        try await bench.drop(on: loop)
        try await bench.open(uptimeMs: 100, on: loop)
        try await api.advance(6_000, on: loop)
        let now = loop.wallClock.milliseconds
        try await bench.event("agent", Frame.start("own", at: now), on: loop)
        try await bench.event("agent", Frame.text("own", 2, "Going"), on: loop)
        try await bench.row(Row.user(Row.resumption(of: "hello"), id: "u2", at: now), on: loop)
        return waiting
    }

    private func count(_ part: String, in text: String) -> Int { text.ranges(of: part).count }

    private func end(_ api: APIBench, on loop: isolated EventLoop) async throws {
        try await api.bench.event("agent", Frame.text("own", 3, "Going on"), on: loop)
        try await api.bench.event("chat", Frame.final("own", 4, "Going on, done"), on: loop)
    }

    @Test func `a wait goes on with the run that answers`() async throws {
        try await withAPI(.away) { api, loop in
            let waiting = try await interrupt(("/v1/messages?wait=60", []), api, on: loop)
            #expect(waiting.answer == nil)
            try await end(api, on: loop)
            let answer = try #require(waiting.answer)
            #expect(answer.status == 200, "\(answer.body)")
            #expect(answer.json["reply"]?.string == "Going on, done")
            #expect(answer.json["entry"]?["runId"]?.string == "own")
            let first = try await api.get("/v1/runs?limit=2", on: loop).json["runs"]?[1]
            #expect(first?["code"]?.string == "RUN_INTERRUPTED")
            #expect(first?["continuedAs"]?.string == "own")
            #expect(first?["text"]?.string == "Half an")
        }
    }

    /// 2026.3.1, seen live: sent again after the gateway was killed, the message waited behind another client's.
    @Test func `a listed run can be asked for, though another one answers its message`() async throws {
        try await withAPI(.away) { api, loop in
            let bench = api.bench
            try await bench.open(version: 3, methods: [], on: loop)
            let id = try #require(try await bench.accept("hello", on: loop))
            try await bench.event("agent", Frame.start(id, at: loop.wallClock.milliseconds), on: loop)
            try await bench.drop(on: loop)
            try await api.advance(10_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 4_000, methods: [], on: loop)
            try await api.advance(5_000, on: loop)
            #expect(bench.gateway.sentKeys == [id, id])
            try await bench.event("chat", Frame.final(id, 1, nil), on: loop)
            let at = loop.wallClock.milliseconds + 1_000
            try await api.advance(1_000, on: loop)
            try await bench.event("agent", Frame.start("own", at: at), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", at: at), Row.assistant("Hi.", at: at + 900)]
            try await bench.event("chat", Frame.final("own", 9, "Hi."), on: loop)
            try await api.advance(10_000, on: loop)
            let runs = try await api.get("/v1/runs", on: loop).json["runs"]
            #expect(runs?.elements.compactMap { $0["id"]?.string } == ["own", id])
            for run in ["own", id] {
                #expect(try await api.get("/v1/runs/\(run)", on: loop).json["id"]?.string == run)
            }
        }
    }

    /// On a busy disk the message was known as delivered while its run's end was still being written.
    @Test func `whoever has the answer finds the end of its run among the events`() async throws {
        try await withAPI(.away) { api, loop in
            let bench = api.bench
            try await bench.open(on: loop)
            let waiting = try await api.open("POST", "/v1/messages?wait=60", Field.text, body: "hello", on: loop)
            let id = try #require(bench.gateway.sentKeys.last)
            let now = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start(id, at: now), on: loop)
            bench.journal.hold()
            try await bench.row(Row.user("hello", key: id, id: "u1", at: now), on: loop)
            try await bench.event("chat", Frame.final(id, 4, "Done"), on: loop)
            try await api.advance(1_000, on: loop)
            let before = bench.journal.newest
            for _ in 0..<8 where waiting.answer == nil {
                bench.journal.releaseOne()
                try await bench.settle(on: loop)
            }
            let known = bench.journal.newest
            bench.journal.release()
            try await bench.settle(on: loop)
            #expect(waiting.answer?.status == 200)
            let events = "/v1/events?types=run.ended&poll=0&since="
            #expect(try await api.get(events + before.text, on: loop).json["events"]?.count == 1)
            #expect(try await api.get(events + known.text, on: loop).json["events"]?.count == 0)
        }
    }

    @Test func `a stream of one message goes on with the run that answers, from its beginning`() async throws {
        try await withAPI(.away) { api, loop in
            let waiting = try await interrupt(("/v1/messages", ["Accept: text/event-stream"]), api, on: loop)
            #expect(!waiting.text.contains("event: run.ended"), "\(waiting.text)")
            try await end(api, on: loop)
            let text = waiting.text
            #expect(count("event: run.ended", in: text) == 1, "\(text)")
            #expect(text.contains("Going on, done"))
            #expect(count("event: run.started", in: text) == 2, "\(text)")
            #expect(count(#""replace":true"#, in: text) > 0, "\(text)")
        }
    }

    /// The client may have more of the text from another host, or from the process before.
    @Test func `a stream that goes on gets the text of each run so far, also where there is none yet`() async throws {
        try await withAPI(.away) { api, loop in
            let bench = api.bench
            try await bench.open(on: loop)
            let before = bench.journal.newest
            try await bench.event("agent", Frame.start("run-1", at: loop.wallClock.milliseconds), on: loop)
            let piece = #""text":"","offset":0,"replace":true"#
            let stream = try await api.open("GET", "/v1/events?since=\(before.text)", on: loop)
            #expect(count(piece, in: stream.text) == 1, "\(stream.text)")
            let fresh = try await api.open("GET", "/v1/events", on: loop)
            #expect(count(piece, in: fresh.text) == 0, "\(fresh.text)")
        }
    }
}
