import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Testing

@testable import Service

/// Other clients say what we say, and Ladle is killed.
struct EqualWordsRestartTests {
    private static let main = ServiceBench.main

    private enum Known: CaseIterable {
        /// Behind which run our message waits.
        case theRunBefore
        /// That the run before was at work while another client's message waited.
        case thatAnotherWaited
    }

    private func final(_ run: String, _ text: String, at time: Int64) -> String {
        Frame.final(run, 9, text).replacing("1795000009000", with: "\(time)")
    }

    /// Another client said the same words first. Without what Ladle knew before it was killed, its run would be told as the one that answers
    /// our message, too.
    @Test(arguments: Known.allCases)
    private func `a message that waited before a kill is answered by the run behind the one before it`(
        _ known: Known
    ) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.advance(61_000, on: loop)
            if known == .thatAnotherWaited {
                // Perhaps it was this one that Ladle did not see, so what it sees first may have waited.
                try await bench.event("agent", Frame.start("unseen", at: loop.wallClock.milliseconds), on: loop)
                try await bench.event("chat", Frame.final("theirs", 0, nil), on: loop)
            }
            let id = try await bench.accept("ok", on: loop) ?? ""
            if known == .thatAnotherWaited {
                let before = final("unseen", "Before.", at: loop.wallClock.milliseconds)
                try await bench.event("chat", before, on: loop)
            }
            try await bench.advance(700, on: loop)
            let first = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start("other", at: first), on: loop)
            try await bench.advance(100, on: loop)
            try await bench.event("chat", Frame.final(id, 1, nil), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("ok", at: first)]
            try await bench.advance(500, on: loop)
            bench.gateway.rows[Self.main]?.append(Row.assistant("First.", at: first + 500))
            try await bench.event("chat", final("other", "First.", at: first + 500), on: loop)
            try await bench.advance(2_000, on: loop)
            try await bench.kill(on: loop)
            bench.gateway.rows[Self.main]?.append(Row.user("ok", at: loop.wallClock.milliseconds))
            try await bench.advance(1_000, on: loop)
            try await bench.open(version: 3, methods: [], on: loop)
            let text = #""sessionKey":"\#(Self.main)","data":{"text":"Sec","delta":""}}"#
            let seen = #"{"runId":"g","seq":5,"stream":"assistant","ts":\#(loop.wallClock.milliseconds),"#
            try await bench.event("agent", seen + text, on: loop)
            try await bench.advance(2_000, on: loop)
            bench.gateway.rows[Self.main]?.append(Row.assistant("Second.", at: loop.wallClock.milliseconds))
            let last = final("g", "Second.", at: loop.wallClock.milliseconds)
            try await bench.event("chat", last, on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(try await bench.entry(id).runID == "g")
            #expect(bench.data("run.ended").last?["run"]?["text"]?.string == "Second.")
        }
    }

    /// 2026.3.1, seen live: the gateway was restarted while our message waited behind another client's with the same words, and lost it. The
    /// other's row was shown as ours.
    /// - Parameter isSeen: whether the run before began after the link was opened.
    @Test(arguments: [true, false])
    func `the row of the run before is not that of a message which waited and was lost`(isSeen: Bool) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            try await bench.advance(61_000, on: loop)
            let id = try await bench.accept("ok", on: loop) ?? ""
            try await bench.advance(50, on: loop)
            let first = loop.wallClock.milliseconds - (isSeen ? 0 : 500)
            if isSeen { try await bench.event("agent", Frame.start("other", at: first), on: loop) }
            bench.gateway.rows[Self.main] = [Row.user("ok", at: first)]
            try await bench.event("chat", Frame.final(id, 0, nil), on: loop)
            if !isSeen {
                let text = #""sessionKey":"\#(Self.main)","data":{"text":"Fir","delta":""}}"#
                let seen = #"{"runId":"other","seq":5,"stream":"assistant","ts":\#(first + 500),"#
                try await bench.event("agent", seen + text, on: loop)
            }
            try await bench.advance(500, on: loop)
            bench.gateway.rows[Self.main]?.append(Row.assistant("First.", at: first + 500))
            try await bench.event("chat", final("other", "First.", at: first + 500), on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(1_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 500, methods: [], on: loop)
            try await bench.advance(5_000, on: loop)
            let said = bench.data("message").compactMap { $0["message"] }.map { message in
                let isOurs = message["id"]?.string == id
                return
                    "\(isOurs ? "ours" : "theirs"): \(message["text"]?.string ?? "") \(message["state"]?.string ?? "")"
            }
            #expect(said.prefix(3) == ["ours: ok sending", "theirs: ok sent", "theirs: First. sent"], "\(said)")
        }
    }

    /// 2026.4.26, seen live: another client said the same words first, and the row came before its run began and before it was told that ours
    /// waits. The row was listed as ours, and never published as the other's.
    @Test func `a row that was taken for ours is the run's in the way, once our message is known to wait`() async throws
    {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: ["sessions.subscribe"], on: loop)
            try await bench.advance(61_000, on: loop)
            let id = try await bench.accept("ok", on: loop) ?? ""
            try await bench.advance(400, on: loop)
            let first = loop.wallClock.milliseconds
            let row = Row.user("ok", id: "theirs", at: first)
            bench.gateway.rows[Self.main] = [row]
            try await bench.row(row, on: loop)
            try await bench.event("agent", Frame.start("other", at: first + 9), on: loop)
            try await bench.advance(300, on: loop)
            try await bench.event("chat", Frame.final(id, 1, nil), on: loop)
            bench.gateway.rows[Self.main]?.append(Row.assistant("First.", at: first + 500))
            try await bench.event("chat", final("other", "First.", at: first + 500), on: loop)
            try await bench.advance(5_000, on: loop)
            let said = bench.data("message").compactMap { $0["message"]?["id"]?.string }
            #expect(said.prefix(2) == [id, "theirs"])
            #expect(try await bench.state(id) == .accepted)
        }
    }
}
