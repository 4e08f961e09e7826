import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Service

struct AutomationServiceTests {
    private static let methods = ["cron.list", "cron.run", "cron.runs", "cron.update", "wake"]

    private static func job(_ id: String, enabled: Bool = true, state: String = "{}", text: String = "say it") -> String
    {
        #"{"id":"\#(id)","name":"Job \#(id)","enabled":\#(enabled),"schedule":{"kind":"every","everyMs":60000},"#
            + #""payload":{"kind":"systemEvent","text":"\#(text)"},"state":\#(state)}"#
    }

    private func list(_ jobs: String...) -> CallOutcome { ok(#"{"jobs":[\#(jobs.joined(separator: ","))]}"#) }

    private func read(_ bench: ServiceBench, refresh: Bool = false, on loop: isolated EventLoop) async throws
        -> AutomationService.List
    {
        var list: AutomationService.List?
        bench.services.automations.read(refresh: refresh, on: loop) { list = try? $0.get() }
        try await bench.settle(on: loop)
        return try #require(list)
    }

    private func told(_ bench: ServiceBench) -> [String] {
        bench.data("automation").map {
            "\($0["reason"]?.string ?? "") \($0["automation"]?["id"]?.string ?? "") \($0["automation"]?["last"]?["status"]?.string ?? "-")"
        }
    }

    @Test func `a fresh list asks nobody, and an event keeps it true`() async throws {
        try await withServices { bench, loop in
            bench.gateway.next("cron.list", list(Self.job("b"), Self.job("a")))
            try await bench.open(methods: Self.methods, on: loop)
            #expect(bench.gateway.requests("cron.list").isEmpty)
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a", "b"])
            let running = Self.job("a", state: #"{"runningAtMs":1795342455811}"#)
            try await bench.event("cron", #"{"jobId":"a","action":"started","job":\#(running)}"#, on: loop)
            #expect(try await read(bench, on: loop).rows.first?.runningSince != nil)
            try await bench.event("cron", #"{"jobId":"b","action":"removed","job":\#(Self.job("b"))}"#, on: loop)
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a"])
            #expect(bench.gateway.requests("cron.list").count == 1)
            #expect(told(bench) == ["started a -", "removed b -"])
        }
    }

    @Test func `events without the job are told with what is known of it`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Self.methods, on: loop)
            bench.gateway.next("cron.list", list(Self.job("a")), list(Self.job("a"), Self.job("n")))
            // Nobody has read the list yet.
            try await bench.event("cron", #"{"jobId":"a","action":"started","runAtMs":1795342455811}"#, on: loop)
            let end =
                #"{"jobId":"a","action":"finished","status":"error","error":"no /home/me/x","runAtMs":1795342455811,"durationMs":3}"#
            try await bench.event("cron", end, on: loop)
            try await bench.event("cron", #"{"jobId":"n","action":"added"}"#, on: loop)
            try await bench.event("cron", #"{"jobId":"n","action":"removed"}"#, on: loop)
            try await bench.event("cron", #"{"jobId":"stranger","action":"removed"}"#, on: loop)
            #expect(told(bench) == ["started a -", "finished a error", "added n -", "removed n -"])
            let last = bench.data("automation")[1]["automation"]
            #expect(last?["last"]?["error"]?.string == "no …" && last?["failures"]?.int == 1)
            #expect(bench.gateway.requests("cron.list").count == 2)
        }
    }

    @Test(arguments: [3, 4])
    func `an end that comes before the first list is told with its status`(version: Int) async throws {
        try await withServices { bench, loop in
            try await bench.open(version: version, methods: Self.methods, on: loop)
            // The list was made before the end, or does not show it.
            bench.gateway.next("cron.list", list(Self.job("a")))
            let end = #"{"jobId":"a","action":"finished","status":"error","error":"broken","runAtMs":1795342455811}"#
            try await bench.event("cron", end, on: loop)
            #expect(told(bench) == ["finished a error"])
            let last = bench.data("automation")[0]["automation"]
            #expect(last?["last"]?["error"]?.string == "broken" && last?["failures"]?.int == 1)
            #expect(try await read(bench, on: loop).rows.first?.last?.status == "error")
        }
        try await withServices { bench, loop in
            try await bench.open(version: version, methods: Self.methods, on: loop)
            let known =
                #"{"lastRunAtMs":1795342455811,"lastRunStatus":"error","lastError":"known","consecutiveErrors":4}"#
            bench.gateway.next("cron.list", list(Self.job("a", state: known)))
            let end = #"{"jobId":"a","action":"finished","status":"error","error":"broken","runAtMs":1795342455811}"#
            try await bench.event("cron", end, on: loop)
            let last = bench.data("automation")[0]["automation"]
            #expect(last?["last"]?["error"]?.string == "known" && last?["failures"]?.int == 4)
        }
    }

    @Test func `the end of a job makes a notification`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Self.methods, on: loop)
            bench.gateway.next("cron.list", list(Self.job("a")))
            let end = #"{"jobId":"a","action":"finished","status":"error","error":"broken","runAtMs":1795342455811}"#
            try await bench.event("cron", end, on: loop)
            let one = bench.data("notification").last?["notification"]
            #expect(one?["type"]?.string == "automation.failed", "\(bench.types())")
        }
    }

    @Test func `no event and no file has what a job says`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("cron.list", list(Self.job("a", text: "the secret")))
            _ = try await read(bench, on: loop)
            let row = Self.job("a", text: "the secret")
            try await bench.event("cron", #"{"jobId":"a","action":"updated","job":\#(row)}"#, on: loop)
            #expect(bench.published.allSatisfy { !String(decoding: $0.data, as: UTF8.self).contains("secret") })
            try await bench.drop(on: loop)
            let kept = try await read(bench, on: loop)
            #expect(!kept.isLive && kept.rows.map(\.id) == ["a"])
            var writer = JSONWriter()
            kept.rows[0].write(to: &writer, showsWork: true)
            #expect(!String(decoding: writer.bytes, as: UTF8.self).contains("secret"))
        }
    }

    @Test func `a break of the link is made up for by the next list`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next("cron.list", list(Self.job("a"), Self.job("b"), Self.job("c")))
            _ = try await read(bench, on: loop)
            try await bench.drop(on: loop)
            let ran = #"{"lastRunAtMs":1795342455811,"lastRunStatus":"error"}"#
            bench.gateway.next(
                "cron.list",
                list(Self.job("a", state: ran), Self.job("b", enabled: false), Self.job("d"))
            )
            try await bench.open(methods: Self.methods, on: loop)
            #expect(told(bench) == ["finished a error", "updated b -", "added d -", "removed c -"])
        }
    }

    @Test func `a list that an event overtook is asked for again`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.silent = ["cron.list"]
            var rows: [String]?
            bench.services.automations.read(on: loop) { rows = (try? $0.get())?.rows.map(\.id) }
            try await bench.event("cron", #"{"jobId":"a","action":"removed","job":\#(Self.job("a"))}"#, on: loop)
            bench.gateway.answer("cron.list", list(Self.job("a")))
            try await bench.settle(on: loop)
            #expect(rows == nil)
            bench.gateway.answer("cron.list", list(Self.job("b")))
            try await bench.settle(on: loop)
            #expect(rows == ["b"])
        }
    }

    @Test func `jobs that never rest keep no reader waiting for ever`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.silent = ["cron.list"]
            var rows: [String]?
            bench.services.automations.read(on: loop) { rows = (try? $0.get())?.rows.map(\.id) }
            for number in 0..<4 {
                #expect(rows == nil)
                let action = number.isMultiple(of: 2) ? "started" : "finished"
                try await bench.event("cron", #"{"jobId":"a","action":"\#(action)","job":\#(Self.job("a"))}"#, on: loop)
                bench.gateway.answer("cron.list", list(Self.job("a"), Self.job("b")))
                try await bench.settle(on: loop)
            }
            #expect(rows == ["a", "b"])
            // The list may be from before the last event, so the next reader asks again.
            bench.services.automations.read(on: loop) { rows = (try? $0.get())?.rows.map(\.id) }
            bench.gateway.answer("cron.list", list(Self.job("c")))
            try await bench.settle(on: loop)
            #expect(rows == ["c"])
        }
    }

    @Test func `ten thousand jobs are listed, and a gateway that has no last page is not followed for ever`()
        async throws
    {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            for page in 1...60 {
                let jobs = (0..<200).map { Self.job("\(page)-\($0)") }.joined(separator: ",")
                bench.gateway.next("cron.list", ok(#"{"jobs":[\#(jobs)],"nextOffset":\#(page * 200)}"#))
            }
            #expect(try await read(bench, on: loop).rows.count == 10_000)
            #expect(bench.gateway.requests("cron.list").count == 50)
        }
    }

    @Test func `more jobs than a page has are read page by page`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.next(
                "cron.list",
                ok(#"{"jobs":[\#(Self.job("a"))],"nextOffset":1}"#),
                ok(#"{"jobs":[\#(Self.job("b"))],"nextOffset":1}"#)
            )
            #expect(try await read(bench, on: loop).rows.map(\.id) == ["a", "b"])
            #expect(bench.gateway.requests("cron.list").map { $0.params["offset"]?.int } == [nil, 1])
        }
    }

    @Test func `an early release answers at the end, a caller when it begins`() async throws {
        try await withServices { bench, loop in
            try await bench.open(version: 3, methods: Self.methods, on: loop)
            bench.gateway.next("cron.list", list(Self.job("a")))
            bench.gateway.silent = ["cron.run"]
            var word: String?
            func run(on loop: isolated EventLoop) {
                loop.start {
                    do throws(AutomationService.Refusal) {
                        _ = try await bench.services.automations.run("a", on: loop)
                        word = "started"
                    } catch {
                        word = "\(error)"
                    }
                }
            }
            run(on: loop)
            try await bench.settle(on: loop)
            #expect(word == nil)
            try await bench.event("cron", #"{"jobId":"a","action":"started"}"#, on: loop)
            #expect(word == "started")
            bench.gateway.answer("cron.run", ok(#"{"ok":true,"ran":true}"#))
            word = nil
            run(on: loop)
            try await bench.settle(on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(word == "started")
            bench.gateway.answer("cron.run", ok(#"{"ok":true,"ran":true}"#))
            word = nil
            run(on: loop)
            try await bench.settle(on: loop)
            bench.gateway.answer("cron.run", ok(#"{"ok":true,"ran":false,"reason":"already-running"}"#))
            try await bench.settle(on: loop)
            #expect(word == "running")
        }
    }

    @Test func `a key is on disk before its frame, and no repeat makes another`() async throws {
        try await withServices { bench, loop in
            let receipts = bench.services.receipts
            let claim = ControlReceipts.Claim(scope: "owner run", key: "k", meaning: [1])
            var words: [String] = []
            func begin(
                _ receipts: ControlReceipts,
                _ claim: ControlReceipts.Claim,
                on loop: isolated EventLoop
            ) {
                receipts.begin(claim, on: loop) { result in
                    switch result {
                    case .success(.repeated(let bytes)): words.append(String(decoding: bytes, as: UTF8.self))
                    case .success(let finding): words.append("\(finding)")
                    case .failure: words.append("failed")
                    }
                }
            }
            bench.journal.hold()
            begin(receipts, claim, on: loop)
            try await bench.settle(on: loop)
            #expect(words.isEmpty)
            bench.journal.release()
            try await bench.settle(on: loop)
            begin(receipts, claim, on: loop)
            begin(receipts, ControlReceipts.Claim(scope: "owner run", key: "k", meaning: [2]), on: loop)
            begin(receipts, ControlReceipts.Claim(scope: "token:a run", key: "k", meaning: [2]), on: loop)
            try await bench.settle(on: loop)
            #expect(words == ["first", "reused", "first"])
            receipts.finish(claim, Array("done".utf8), on: loop) { words.append("finished") }
            try await bench.settle(on: loop)
            #expect(words.suffix(2) == ["finished", "done"])
            try await bench.restart(on: loop)
            words = []
            begin(bench.services.receipts, claim, on: loop)
            // The other caller's request was in progress when the process ended.
            begin(
                bench.services.receipts,
                ControlReceipts.Claim(scope: "token:a run", key: "k", meaning: [2]),
                on: loop
            )
            try await bench.settle(on: loop)
            #expect(words == ["done", "lost"])
            // A wrong request that is looked up does not stand in the way of a right one.
            words = []
            let wrong = ControlReceipts.Claim(scope: "owner run", key: "k", meaning: [2])
            for claim in [wrong, claim, wrong, claim] { begin(bench.services.receipts, claim, on: loop) }
            try await bench.settle(on: loop)
            #expect(words.sorted() == ["done", "done", "reused", "reused"])
        }
    }
}
