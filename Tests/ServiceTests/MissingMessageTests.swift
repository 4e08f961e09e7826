import Basics
import EventLoops
import Gateway
import JSONBytes
import Outbox
import Runs
import Store
import Testing
import Upstream

@testable import Service

/// Messages of ours that no transcript has, and runs that were stopped, over pages, restarts and resets.
struct MissingMessageTests {
    private static let main = ServiceBench.main
    private static let start = ManualClock.start.milliseconds

    private func page(_ query: MessagePages.Query, _ bench: ServiceBench, on loop: isolated EventLoop) async throws
        -> MessagePages.Page?
    {
        var page: MessagePages.Page?
        loop.start { page = try? await bench.services.messagePages.read(query, refresh: true, on: loop) }
        try await bench.settle(on: loop)
        return page
    }

    private func ids(_ page: MessagePages.Page?) -> [String] {
        page?.messages.map(\.id) ?? []
    }

    /// All pages from the newest to the oldest; the oldest stands first.
    private func pagesBack(_ limit: Int, _ bench: ServiceBench, on loop: isolated EventLoop) async throws -> [[String]]
    {
        var pages: [[String]] = []
        var before: MessagePages.Place?
        for _ in 0..<50 {
            let query = MessagePages.Query(session: Self.main, limit: limit, before: before, after: nil)
            let page = try #require(try await page(query, bench, on: loop))
            pages.insert(ids(page), at: 0)
            guard let next = page.before else { return pages }
            before = MessagePages.Place(next.text)
        }
        Issue.record("endless pages")
        return pages
    }

    private func stop(_ run: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        bench.services.aborts.stop([run], in: Self.main, owner: "token-1", on: loop) { _ in }
        try await bench.settle(on: loop)
    }

    private func stoppedRuns(_ bench: ServiceBench) -> [String] {
        bench.gateway.requests("chat.abort").compactMap { $0["runId"] }
    }

    private func goOn(as run: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        let now = loop.wallClock.milliseconds
        try await bench.event("agent", Frame.start(run, at: now), on: loop)
        try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r-\(run)", at: now), on: loop)
    }

    // MARK: Pages

    /// The row of a stopped message is in the transcript, as 2026.3.1 writes it, and begins a page.
    @Test(arguments: [true, false])
    func `a stopped message whose row begins a page is on one page only`(isLive: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("two", on: loop) ?? ""
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            bench.gateway.rows[Self.main] = [
                Row.user("before", id: "row-1", at: Self.start - 5_000),
                Row.user("two", key: id, id: "row-2", at: Self.start + 50),
                Row.user("three", id: "row-3", at: Self.start + 3_000),
                Row.assistant("four", id: "row-4", at: Self.start + 4_000),
            ]
            try await bench.advance(120_000, on: loop)
            let whole = try await page(
                MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil),
                bench,
                on: loop
            )
            #expect(ids(whole) == ["row-1", id, "row-3", "row-4"])
            if !isLive { try await bench.drop(on: loop) }
            let pages = try await pagesBack(3, bench, on: loop)
            #expect(pages == [["row-1"], [id, "row-3", "row-4"]])
        }
    }

    /// 2026.6.11, seen live: a later message's prompt took the row of a failed one out of the conversation.
    @Test func `a message whose run failed is listed without its row`() async throws {
        try await withLinkedServices { bench, loop in
            let id = try await bench.accept("two", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id, at: loop.wallClock.milliseconds), on: loop)
            try await bench.event("chat", Frame.end(id, "error"), on: loop)
            bench.gateway.rows[Self.main] = [
                Row.user("before", id: "row-1", at: Self.start - 5_000),
                Row.user("three", id: "row-3", at: Self.start + 3_000),
            ]
            try await bench.advance(120_000, on: loop)
            #expect(try await bench.state(id) == .delivered)
            let whole = try await page(
                MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil),
                bench,
                on: loop
            )
            #expect(ids(whole) == ["row-1", id, "row-3"])
        }
    }

    /// 2026.3.1, seen live: the gateway answers a picture without words by itself and writes no row of it.
    @Test(arguments: [true, false])
    func `a delivered picture without words is listed without a row`(isLive: Bool) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: [], on: loop)
            let body = #"{"attachments":[{"name":"dot.png","mimeType":"image/png","data":"iVBORw0KGgo="}]}"#
            let id = try await bench.accept("", body: body, on: loop) ?? ""
            bench.gateway.rows[Self.main] = [
                Row.user("before", at: Self.start - 5_000),
                Row.assistant("I didn't receive any text in your message.", at: Self.start + 900),
                Row.user("three", at: Self.start + 3_000),
            ]
            try await bench.event("chat", Frame.final(id, 2, "I didn't receive any text in your message."), on: loop)
            try await bench.advance(120_000, on: loop)
            #expect(try await bench.state(id) == .delivered)
            let query = MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil)
            if !isLive {
                _ = try await page(query, bench, on: loop)
                try await bench.drop(on: loop)
            }
            let found = ids(try await page(query, bench, on: loop))
            #expect(found.firstIndex(of: id) == 1 && found.filter { $0 == id }.count == 1)
            #expect(try await pagesBack(2, bench, on: loop).joined().filter { $0 == id }.count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `two failed messages of one millisecond are both on a page`(isLive: Bool) async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next(
                "chat.send",
                refused("INVALID_REQUEST", "no such thing"),
                refused("INVALID_REQUEST", "no such thing")
            )
            let one = try await bench.accept("one", on: loop) ?? ""
            let two = try await bench.accept("two", on: loop) ?? ""
            #expect(try await bench.state(one) == .failed)
            #expect(try await bench.state(two) == .failed)
            bench.gateway.rows[Self.main] = [
                Row.user("before", id: "row-1", at: Self.start - 5_000),
                Row.user("three", id: "row-3", at: Self.start + 3_000),
            ]
            try await bench.advance(120_000, on: loop)
            _ = try await page(
                MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil),
                bench,
                on: loop
            )
            if !isLive { try await bench.drop(on: loop) }
            let pages = try await pagesBack(2, bench, on: loop)
            #expect(pages == [["row-1", one], [two, "row-3"]])
        }
    }

    @Test func `forward pages from the cache keep the limit and repeat nothing`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next("chat.send", refused("INVALID_REQUEST", "no such thing"))
            let failed = try await bench.accept("one", on: loop) ?? ""
            bench.gateway.rows[Self.main] = [
                Row.user("before", id: "row-1", at: Self.start - 5_000),
                Row.user("two", id: "row-2", at: Self.start + 3_000),
                Row.assistant("three", id: "row-3", at: Self.start + 4_000),
            ]
            try await bench.advance(120_000, on: loop)
            _ = try await page(
                MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil),
                bench,
                on: loop
            )
            try await bench.drop(on: loop)
            let waiting = try await bench.accept("later", on: loop) ?? ""
            var pages: [[String]] = []
            var after = MessagePages.Place("row-1")
            while let place = after, pages.count < 6 {
                let found = try await page(
                    MessagePages.Query(session: Self.main, limit: 2, before: nil, after: place),
                    bench,
                    on: loop
                )
                pages.append(ids(found))
                after = (found?.after).flatMap { MessagePages.Place($0.text) }
            }
            #expect(pages == [[failed, "row-2"], ["row-3", waiting]])
        }
    }

    @Test func `a message that a reset ended is not in the new conversation`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.historyMembers = #","sessionId":"a1""#
            bench.gateway.rows[Self.main] = []
            _ = try await pagesBack(50, bench, on: loop)
            let id = try await bench.accept("one", on: loop) ?? ""
            try await bench.event("agent", Frame.start(id), on: loop)
            try await bench.advance(1_000, on: loop)
            bench.gateway.historyMembers = #","sessionId":"b2""#
            let reset = #"{"sessionKey":"\#(Self.main)","reason":"reset","sessionId":"b2"}"#
            try await bench.event("sessions.changed", reset, on: loop)
            try await bench.advance(50, on: loop)
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            try await bench.advance(600_000, on: loop)
            bench.gateway.rows[Self.main] = [Row.user("new", id: "row-9", at: loop.wallClock.milliseconds - 1_000)]
            #expect(try await pagesBack(50, bench, on: loop) == [["row-9"]])
        }
    }

    /// Ladle's process that saw the reset is gone.
    @Test(arguments: [false, true])
    func `a stopped message of the former conversation stays away after a restart of Ladle`(
        isRestarted: Bool
    ) async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.historyMembers = #","sessionId":"a1""#
            _ = try await pagesBack(50, bench, on: loop)
            let id = try await bench.accept("one", on: loop) ?? ""
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            try await bench.advance(600_000, on: loop)
            bench.gateway.historyMembers = #","sessionId":"b2""#
            bench.gateway.rows[Self.main] = [Row.user("new", id: "row-9", at: loop.wallClock.milliseconds - 1_000)]
            #expect(try await pagesBack(50, bench, on: loop) == [["row-9"]])
            if isRestarted {
                try await bench.restart(on: loop)
                try await bench.open(on: loop)
            }
            #expect(try await pagesBack(50, bench, on: loop) == [["row-9"]])
        }
    }

    @Test(arguments: [true, false], [1, 2, 3, 5, 7])
    func `pages in both directions have each message once, by cursor and by id`(isLive: Bool, limit: Int) async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.responder = { request in
                request.method == "chat.send" ? .now(refused("INVALID_REQUEST", "no such thing")) : nil
            }
            var all: [(at: Int64, id: String)] = []
            var rows: [String] = []
            for number in 0..<24 {
                try await bench.advance(1_000, on: loop)
                let at = loop.wallClock.milliseconds
                if number % 5 == 2 || number % 7 == 3 || number == 0 || number == 23 {
                    all.append((at, try await bench.accept("m\(number)", on: loop) ?? ""))
                } else {
                    rows.append(Row.user("m\(number)", id: "row-\(number)", at: at))
                    all.append((at, "row-\(number)"))
                }
            }
            bench.gateway.rows[Self.main] = rows
            try await bench.advance(120_000, on: loop)
            let whole = try await page(
                MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil),
                bench,
                on: loop
            )
            #expect(ids(whole) == all.map(\.id))
            if !isLive { try await bench.drop(on: loop) }
            #expect(try await pagesBack(limit, bench, on: loop).flatMap { $0 } == all.map(\.id))
            for usesCursor in [true, false] {
                /// The place of a message, by its cursor or its bare id.
                func place(_ id: String?) -> MessagePages.Place? {
                    let at = all.first { $0.id == id }?.at ?? 0
                    let cursor = MessageCursor(at: Timestamp(milliseconds: at), id: id ?? "")
                    return MessagePages.Place(usesCursor ? cursor.text : cursor.id)
                }
                var forward = [all[0].id]
                var back = [all[23].id]
                for _ in 0..<60 {
                    let query = MessagePages.Query(
                        session: Self.main,
                        limit: limit,
                        before: nil,
                        after: place(forward.last)
                    )
                    let next = try await page(query, bench, on: loop)
                    forward += ids(next)
                    if next?.after == nil { break }
                }
                for _ in 0..<60 {
                    let query = MessagePages.Query(
                        session: Self.main,
                        limit: limit,
                        before: place(back.first),
                        after: nil
                    )
                    let next = try await page(query, bench, on: loop)
                    back = ids(next) + back
                    if next?.before == nil { break }
                }
                #expect(forward == all.map(\.id))
                #expect(back == all.map(\.id))
            }
        }
    }

    /// The gateway's clock is five minutes behind.
    @Test func `a stopped message is on one page with different clocks`() async throws {
        try await withServices { bench, loop in
            bench.gateway.clockSkewMs = -300_000
            try await bench.open(on: loop)
            let id = try await bench.accept("two", on: loop) ?? ""
            try await bench.event("chat", Frame.end(id, "aborted"), on: loop)
            let written = Self.start - 300_000
            let all =
                [Row.user("two", key: id, id: "row-own", at: written + 50)]
                + (1...150).map { Row.user("m\($0)", id: "row-\($0)", at: written + Int64($0) * 4_000) }
            bench.gateway.responder = { request in
                guard request.method == "chat.history" else { return nil }
                let limit = Int(request.params["limit"]?.double ?? 50)
                let rows = all.suffix(limit).joined(separator: ",")
                return .now(ok(#"{"messages":[\#(rows)],"hasMore":\#(all.count > limit)}"#))
            }
            try await bench.advance(700_000, on: loop)
            let pages = try await pagesBack(25, bench, on: loop)
            let found = pages.joined().filter { $0 == id }
            #expect(found.count == 1, "\(pages.map { $0.firstIndex(of: id) })")
            #expect(pages.joined().count == 151)
        }
    }

    // MARK: Stops

    /// Stopped, said again with the same words, and then the gateway is killed.
    @Test func `the message sent again after a stop is not stopped`() async throws {
        try await withLinkedServices { bench, loop in
            let one = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(one, at: loop.wallClock.milliseconds), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: one, id: "u1")]
            try await stop(one, bench, on: loop)
            try await bench.event("chat", Frame.end(one, "aborted"), on: loop)
            try await bench.advance(2_000, on: loop)
            let two = try await bench.accept("hello", on: loop) ?? ""
            let again = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start(two, at: again), on: loop)
            bench.gateway.rows[Self.main]?.append(Row.user("hello", key: two, id: "u2", at: again))
            try await bench.drop(on: loop)
            try await bench.advance(5_000, on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            let resumed = loop.wallClock.milliseconds
            try await goOn(as: "run-own", bench, on: loop)
            bench.gateway.rows[Self.main]?.append(
                Row.user(Row.resumption(of: "hello"), id: "r-run-own", at: resumed)
            )
            try await bench.advance(60_000, on: loop)
            #expect(stoppedRuns(bench) == [one])
        }
    }

    /// This computer slept; another client said the same ten hours later, and the gateway was restarted.
    @Test(arguments: [false, true])
    func `another client's run is not stopped hours after a stop`(isKilled: Bool) async throws {
        try await withLinkedServices { bench, loop in
            let one = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(one, at: loop.wallClock.milliseconds), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: one, id: "u1")]
            try await stop(one, bench, on: loop)
            try await bench.event("chat", Frame.end(one, "aborted"), on: loop)
            try await bench.advance(3_600_000, on: loop)
            try await bench.drop(on: loop)
            if isKilled { try await bench.kill(on: loop) }
            try await bench.advance(36_000_000, on: loop)
            let theirs = loop.wallClock.milliseconds - 60_000
            bench.gateway.rows[Self.main]?.append(Row.user("hello", key: "theirs", id: "u2", at: theirs))
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(6_000, on: loop)
            try await goOn(as: "run-own", bench, on: loop)
            try await bench.advance(10_000, on: loop)
            #expect(stoppedRuns(bench) == [one])
            #expect(bench.data("run.corrected").isEmpty)
        }
    }

    /// 2026.4.26: another client's turn followed the stopped one while the link was down; the prompt has no words.
    @Test func `a prompt without words does not stop another client's run`() async throws {
        try await withLinkedServices { bench, loop in
            let one = try await bench.accept("hello", on: loop) ?? ""
            try await bench.event("agent", Frame.start(one, at: loop.wallClock.milliseconds), on: loop)
            bench.gateway.rows[Self.main] = [Row.user("hello", key: one, id: "u1")]
            try await stop(one, bench, on: loop)
            try await bench.event("chat", Frame.end(one, "aborted"), on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(60_000, on: loop)
            let theirs = loop.wallClock.milliseconds
            bench.gateway.rows[Self.main]?.append(Row.user("something else", id: "u2", at: theirs))
            try await bench.advance(5_000, on: loop)
            try await bench.open(version: 3, uptimeMs: 100, on: loop)
            try await bench.advance(34_000, on: loop)
            let now = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            let notice = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting."
            try await bench.row(Row.user(notice, id: "u3", at: now), on: loop)
            try await bench.advance(1_000, on: loop)
            #expect(stoppedRuns(bench) == [one])
        }
    }

    @Test func `after a restart each session with a stopped run is looked at`() async throws {
        try await withLinkedServices { bench, loop in
            for number in 0..<40 {
                let session = "agent:main:s\(number)"
                let start = Frame.start("r\(number)", session: session, at: loop.wallClock.milliseconds)
                try await bench.event("agent", start, on: loop)
                try await bench.event("chat", Frame.end("r\(number)", "aborted", session: session), on: loop)
            }
            try await bench.advance(10_000, on: loop)
            try await bench.drop(on: loop)
            try await bench.advance(5_000, on: loop)
            let before = bench.gateway.requests("chat.history").count
            try await bench.open(uptimeMs: 100, on: loop)
            try await bench.advance(600_000, on: loop)
            // 50 rows are the run tracker's; the message service asks for 60.
            let asked = bench.gateway.requests("chat.history").dropFirst(before).filter {
                $0.params["limit"]?.double == 50
            }
            #expect(Set(asked.compactMap { $0["sessionKey"] }).count == 40)
        }
    }

    /// 16 sessions with a run that was stopped within a day; another client wrote elsewhere while Ladle was away.
    /// The control are completed runs.
    @Test(arguments: ["aborted", "final"])
    func `remembered stops do not keep missed messages of other sessions from the stream`(
        state: String
    ) async throws {
        try await withLinkedServices { bench, loop in
            let other = "agent:main:other"
            bench.gateway.rows[other] = [Row.user("hi", id: "o1", at: loop.wallClock.milliseconds)]
            try await bench.event(
                "session.message",
                #"{"sessionKey":"\#(other)","message":\#(Row.user("hi", id: "o1", at: loop.wallClock.milliseconds)),"messageId":"o1"}"#,
                on: loop
            )
            for number in 0..<20 {
                let session = "agent:main:s\(number)"
                let id = try await bench.accept("hello", session: session, on: loop) ?? ""
                try await bench.event(
                    "agent",
                    Frame.start(id, session: session, at: loop.wallClock.milliseconds),
                    on: loop
                )
                try await bench.event(
                    "chat",
                    state == "final"
                        ? Frame.final(id, 9, "ok", session: session) : Frame.end(id, state, session: session),
                    on: loop
                )
            }
            try await bench.advance(3_600_000, on: loop)
            try await bench.event(
                "session.message",
                #"{"sessionKey":"\#(other)","message":\#(Row.user("again", id: "o2", at: loop.wallClock.milliseconds)),"messageId":"o2"}"#,
                on: loop
            )
            bench.gateway.rows[other]?.append(Row.user("again", id: "o2", at: loop.wallClock.milliseconds))
            try await bench.kill(on: loop)
            try await bench.advance(60_000, on: loop)
            bench.gateway.rows[other]?.append(Row.user("missed", id: "o3", at: loop.wallClock.milliseconds))
            try await bench.advance(60_000, on: loop)
            try await bench.open(on: loop)
            try await bench.advance(60_000, on: loop)
            #expect(bench.messages.contains { $0["id"]?.string == "o3" })
        }
    }
}
