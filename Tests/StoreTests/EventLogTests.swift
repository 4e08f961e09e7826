package import Basics
import EventStream
import Gateway
import Labels
import Ledger
import Runs
import TestSupport
import Testing

@testable import Store

package func time(_ ms: Int64) -> Timestamp { Timestamp(milliseconds: ms) }

private struct Log {
    let directory: ScratchDirectory
    let connection: SQLConnection
    var table: EventTable { EventTable(connection) }
    static let epoch = EventEpoch.make(random: 1)

    init() throws {
        directory = try ScratchDirectory()
        connection = try TestDatabase.open(directory.file("t.db"))
        try table.createLog(epoch: Self.epoch, at: time(1))
    }

    func id(_ sequence: Int64) -> EventID { EventID(epoch: Self.epoch, sequence: sequence) }

    func append(_ count: Int, from first: Int64 = 1, type: String = "run.step", atStep ms: Int64 = 1) throws {
        try connection.run("BEGIN")
        for sequence in first..<(first + Int64(count)) {
            let body = Array("{\"n\":\(sequence)}".utf8)
            _ = try table.append(
                EventDraft(type: type, at: time(sequence * ms), session: "s\(sequence % 3)", run: "r", body: body),
                id: id(sequence)
            )
        }
        try connection.run("COMMIT")
    }
}

struct `The event log` {
    @Test func `puts its id into the data`() throws {
        let log = try Log()
        let draft = EventDraft(type: "outbox", at: time(5), body: Array("{\"type\":\"outbox\"}".utf8))
        let event = try log.table.append(draft, id: log.id(1))
        #expect(String(decoding: event.data, as: UTF8.self) == "{\"id\":\"\(log.id(1).text)\",\"type\":\"outbox\"}")
        let empty = try log.table.append(EventDraft(type: "x", at: time(5), body: Array("{}".utf8)), id: log.id(2))
        #expect(String(decoding: empty.data, as: UTF8.self) == "{\"id\":\"\(log.id(2).text)\"}")
    }

    @Test(arguments: [("data", "{\"n\":2]"), ("data", "{\"n\":3}"), ("type", "run.stdp"), ("at", "")])
    func `gives a damaged row as damaged, and the rows beside it`(column: String, value: String) throws {
        let log = try Log()
        try log.append(3)
        switch column {
        case "data": try log.connection.run("UPDATE event SET data = ? WHERE seq = 2", Array(value.utf8))
        case "type": try log.connection.run("UPDATE event SET type = ? WHERE seq = 2", value)
        default: try log.connection.run("UPDATE event SET at = at + 1 WHERE seq = 2")
        }
        let events = try log.table.page(after: log.id(0)).events
        #expect(events.map(\.isDamaged) == [false, true, false])
        #expect(events[1].data.isEmpty && events[1].id == log.id(2))
    }

    /// A version before wrote no checksum.
    @Test func `reads a row without a checksum as long as it is JSON`() throws {
        let log = try Log()
        try log.append(2)
        try log.connection.run("UPDATE event SET sum = NULL")
        try log.connection.run("UPDATE event SET data = ? WHERE seq = 2", Array("{".utf8))
        #expect(try log.table.page(after: log.id(0)).events.map(\.isDamaged) == [false, true])
    }

    @Test func `knows the sessions with its newest events`() throws {
        let log = try Log()
        try log.append(20)
        try log.append(1, from: 21, type: "message")
        let sessions = { (first: Int64) in try log.table.sessions(from: first, limit: 2).map(\.text) }
        #expect(try sessions(0) == ["s0", "s2"])
        #expect(try sessions(21) == ["s0"])
        #expect(try log.table.time(from: 7) == time(7))
        #expect(try log.table.newestTime() == time(21))
        _ = try log.table.prune(keeping: 1, notBefore: time(0), slice: 1_000)
        #expect(try sessions(0) == ["s0"])
    }

    @Test func `is read page by page without a gap or a repeat`() throws {
        let log = try Log()
        try log.append(7_001)
        var cursor = log.id(0)
        var seen: [Int64] = []
        while true {
            let page = try log.table.page(after: cursor, limit: 123)
            seen += page.events.map(\.id.sequence)
            #expect(page.events.count <= 123)
            cursor = page.next
            if page.isEnd { break }
        }
        #expect(seen == Array(1...7_001))
    }

    @Test func `stops a page at its bytes`() throws {
        let log = try Log()
        try log.append(100)
        let page = try log.table.page(after: log.id(0), limit: 100, bytes: 60)
        #expect(page.events.count == 3)
        #expect(!page.isEnd)
    }

    @Test func `filters by type, family, session and run, and moves on past what does not fit`() throws {
        let log = try Log()
        try log.append(5_000, type: "run.step")
        try log.append(1, from: 5_001, type: "message")
        func all(_ types: String?, session: String? = nil, run: String? = nil) throws -> [Int64] {
            let known = ["run.step", "message"]
            let filter = try EventFilter(types: types, session: session, run: run, known: known)
            var cursor = log.id(0)
            var found: [Int64] = []
            var pages = 0
            while true {
                let page = try log.table.page(after: cursor, filter: filter, limit: 10_000)
                found += page.events.map(\.id.sequence)
                cursor = page.next
                pages += 1
                if page.isEnd { break }
            }
            // Bounded work a page, even when nothing fits.
            #expect(pages >= 3)
            return found
        }
        #expect(try all("message") == [5_001])
        #expect(try all("run.*").count == 5_000)
        #expect(try all("run.*", session: "s1").count == 1_667)
        #expect(try all(nil, run: "other") == [])
    }

    @Test func `tells what a cursor is worth`() throws {
        let log = try Log()
        #expect(try log.table.bounds().resume(from: nil) == .fresh(at: log.id(0)))
        #expect(try log.table.bounds().resume(from: log.id(0)) == .recovered(after: log.id(0)))
        #expect(try log.table.bounds().resume(from: log.id(1)) == .reset(oldest: nil, newest: log.id(0)))
        try log.append(100)
        _ = try log.table.prune(keeping: 10, notBefore: time(0), slice: 1_000)
        let bounds = try log.table.bounds()
        #expect(bounds.oldest == log.id(91))
        #expect(
            bounds.resume(from: log.id(90)) == .recovered(after: log.id(90)),
            "just before the oldest: nothing missing"
        )
        #expect(bounds.resume(from: log.id(89)) == .reset(oldest: log.id(91), newest: log.id(100)))
        #expect(bounds.resume(from: log.id(100)) == .recovered(after: log.id(100)))
        #expect(bounds.resume(from: log.id(101)) == .reset(oldest: log.id(91), newest: log.id(100)), "from the future")
        let foreign = EventID(epoch: .make(random: 2), sequence: 95)
        #expect(bounds.resume(from: foreign) == .reset(oldest: log.id(91), newest: log.id(100)))
    }

    @Test func `tells a reader that forgetting has overtaken it`() throws {
        let log = try Log()
        try log.append(100)
        func read(_ cursor: EventID) throws -> EventTable.Reading {
            try log.table.read(after: cursor, filter: .everything, limit: 10, bytes: 1 << 20)
        }
        guard case .page(let page) = try read(log.id(0)) else { Issue.record("no page"); return }
        #expect(page.next == log.id(10))
        _ = try log.table.prune(keeping: 50, notBefore: time(0), slice: 1_000)
        guard case .outside(let bounds) = try read(page.next) else { Issue.record("a hole without a word"); return }
        #expect(bounds.oldest == log.id(51))
    }

    @Test func `forgets by count in slices`() throws {
        let log = try Log()
        try log.append(1_000)
        var slices: [Int] = []
        repeat {
            slices.append(try log.table.prune(keeping: 100, notBefore: time(0), slice: 256))
        } while slices.last == 256
        #expect(slices == [256, 256, 256, 132])
        #expect(try log.table.bounds().oldest == log.id(901))
    }

    @Test func `forgets by age and never the newest, whose number must not come twice`() throws {
        let log = try Log()
        try log.append(1_000)
        #expect(try log.table.prune(keeping: 100_000, notBefore: time(501), slice: 10_000) == 500)
        #expect(try log.table.prune(keeping: 100_000, notBefore: time(1 << 40), slice: 10_000) == 499)
        #expect(try log.table.bounds().newest == log.id(1_000))
        #expect(try log.table.prune(keeping: 0, notBefore: time(1 << 40), slice: 10_000) == 0)
    }

    @Test func `an event of a wrong clock leaves no hole, and goes with the others when they are too many`() throws {
        let log = try Log()
        for (place, at) in ([1 << 40] + Array(1...10) as [Int64]).enumerated() {
            let draft = EventDraft(type: "outbox", at: time(at), body: Array("{}".utf8))
            _ = try log.table.append(draft, id: log.id(Int64(place) + 1))
        }
        #expect(try log.table.prune(keeping: 100, notBefore: time(8), slice: 1_000) == 0)
        #expect(try log.table.bounds().resume(from: log.id(5)) == .recovered(after: log.id(5)))
        #expect(try log.table.page(after: log.id(5)).events.map(\.id.sequence) == Array(6...11))
        #expect(try log.table.prune(keeping: 6, notBefore: time(8), slice: 1_000) == 8)
        #expect(try log.table.bounds().resume(from: log.id(5)) == .reset(oldest: log.id(9), newest: log.id(11)))
    }

    @Test func `keeps its epoch`() throws {
        let log = try Log()
        try log.table.createLog(epoch: .make(random: 3), at: time(2))
        #expect(try log.table.epoch() == Log.epoch)
    }
}

struct `Runs, messages and values` {
    private func run(_ id: String, _ at: Int64, ended: Int64? = nil, end: Ending.How = .completed) -> Run {
        Run(
            id: id,
            session: SessionKey(canonical: "main"),
            state: ended == nil ? .running : end == .completed ? .completed : .failed,
            startedAt: time(at),
            endedAt: ended.map { time($0) },
            end: ended.map { _ in end }
        )
    }

    private func step(_ sequence: Int, of run: String = "r") -> Step {
        Step(
            id: "\(run):\(sequence)",
            runID: run,
            sequence: sequence,
            kind: .tool,
            category: .terminal,
            label: "Running a command...",
            state: .running,
            startedAt: time(5)
        )
    }

    @Test func `a run and its steps are read as they were saved`() throws {
        let log = try Log()
        let table = RunTable(log.connection)
        var whole = run("r", 10, ended: 20, end: .interrupted)
        // A server's text has no U+0000.
        whole.text = "Half of \(TestDatabase.isFile ? "\u{0}" : "") an answer"
        whole.error = "gone"
        whole.continuedAs = "r2"
        (whole.mayReturn, whole.executedAgain, whole.isTruncated, whole.handedOver) = (true, true, true, true)
        var usage = TokenUsage()
        usage.input = 7
        usage.totalTokens = 7
        whole.usage = usage
        for cost in [nil, 0.1] as [Double?] {
            whole.usage?.cost = cost
            try table.save(whole)
            #expect(try table.run(id: "r") == whole)
        }
        for mark in [RunTable.Mark.putAside, .begunBefore] {
            #expect(try !table.has(mark, id: "r"))
            try table.mark("r", mark)
            try table.save(whole)
            #expect(try table.has(mark, id: "r"))
        }
        var done = step(1)
        done.tool = "exec"
        done.toolCallID = "call-1"
        done.detail = "make"
        done.approvalID = "a1"
        done.state = .failed
        done.endedAt = time(9)
        done.durationMilliseconds = 4
        done.exitCode = 2
        done.error = "no such file"
        whole.steps = [done, step(2)]
        for step in whole.steps { try table.save(step) }
        #expect(try table.whole(whole) == whole)
        #expect(whole.code == .interrupted)
    }

    @Test func `runs that were given up are found by an index`() throws {
        let log = try Log()
        let table = RunTable(log.connection)
        try table.save(run("done", 10, ended: 20))
        try table.save(run("given up", 10, ended: 20, end: .interrupted))
        var continued = run("continued", 10, ended: 20, end: .interrupted)
        continued.continuedAs = "next"
        try table.save(continued)
        #expect(try table.givenUp(since: time(20), limit: 5).map(\.id) == ["given up"])
        #expect(try table.givenUp(since: time(21), limit: 5) == [])
        guard TestDatabase.isFile else { return }
        let plan = try log.connection.all("EXPLAIN QUERY PLAN " + RunTable.givenUp, 1, 5) { row in row.string(3) }
        #expect(plan.count == 1 && plan[0].contains("run_given_up"), "\(plan)")
    }

    @Test func `runs are saved over, listed newest first in pages, and found active`() throws {
        let log = try Log()
        let table = RunTable(log.connection)
        for index in 1...5 as ClosedRange<Int64> { try table.save(run("r\(index)", index * 10)) }
        try table.save(run("r3", 30, ended: 99))
        #expect(try table.active().map(\.id) == ["r1", "r2", "r4", "r5"])
        #expect(try table.run(id: "r3")?.state == .completed)
        let page = try table.list(session: nil, before: nil, limit: 2)
        #expect(page.map(\.id) == ["r5", "r4"])
        let fourth = RowPlace(time(40), "r4")
        #expect(try table.list(session: "main", before: fourth, limit: 10).map(\.id) == ["r3", "r2", "r1"])
        #expect(try table.list(session: "other", before: nil, limit: 10) == [])
    }

    @Test(.enabled(if: TestDatabase.isFile), arguments: [false, true], [false, true])
    func `a page of runs is found by an index, not by walking the table`(session: Bool, before: Bool) throws {
        let log = try Log()
        let plan = try log.connection.all(
            "EXPLAIN QUERY PLAN " + RunTable.page(session: session, before: before),
            "main",
            1,
            "r",
            50
        ) { row in row.string(3) }
        let first = try #require(plan.first)
        #expect(plan.count == 1, "\(plan)")
        if session || before {
            #expect(first.hasPrefix("SEARCH run USING INDEX \(session ? "run_session" : "run_started")"), "\(plan)")
        }
    }

    @Test func `steps go with their run`() throws {
        let log = try Log()
        let table = RunTable(log.connection)
        try table.save(run("r", 10, ended: 20))
        try table.save(step(2))
        try table.save(step(1))
        try table.save(step(1))
        #expect(try table.steps(run: "r") == [step(1), step(2)])
        #expect(try table.prune(endedBefore: time(20), slice: 10) == 0)
        #expect(try table.prune(endedBefore: time(21), slice: 10) == 1)
        #expect(try table.steps(run: "r") == [])
        #expect(try table.run(id: "r") == nil)
    }

    private func message(_ id: String, _ at: Int64, text: String = "x") -> ChatMessage {
        ChatMessage(id: id, role: .user, text: text, at: time(at))
    }

    private func save(_ messages: [ChatMessage], session: String, asOf: Int64, in table: MessageTable) throws {
        for message in messages { try table.save(message, session: session, asOf: time(asOf)) }
    }

    @Test func `a kept message is read as it was written`() throws {
        let log = try Log()
        let table = MessageTable(log.connection)
        var message = message("m", 7, text: "long")
        (message.role, message.state, message.isTruncated) = (.assistant, .failed, true)
        (message.runID, message.error) = ("r", "no answer")
        var done = step(2)
        (done.tool, done.toolCallID, done.detail, done.approvalID) = ("exec", "c1", "ls -l", "a1")
        (done.state, done.endedAt, done.durationMilliseconds) = (.failed, time(9), 2)
        (done.exitCode, done.error) = (1, "no such file")
        message.steps = [step(1), done]
        message.attachments = [MessageAttachment(name: "plan.pdf", mimeType: "application/pdf", bytes: 7)]
        try table.save(message, session: "main", asOf: time(50))
        #expect(try table.message(session: "main", id: "m") == message)
    }

    /// The gateway has the message, and its place on the page is of no use without it.
    @Test func `a kept message that is no JSON any more is left out`() throws {
        let log = try Log()
        let table = MessageTable(log.connection)
        try save((1...3).map { message("m\($0)", Int64($0)) }, session: "main", asOf: 50, in: table)
        try log.connection.run("UPDATE message SET body = ? WHERE id = 'm2'", Array("{".utf8))
        #expect(try table.list(session: "main", limit: 3).map(\.id) == ["m1", "m3"])
        #expect(try table.message(session: "main", id: "m2") == nil)
    }

    @Test func `messages are listed newest last, before and after one`() throws {
        let log = try Log()
        let table = MessageTable(log.connection)
        try save((1...9).map { message("m\($0)", Int64($0)) }, session: "main", asOf: 50, in: table)
        #expect(try table.list(session: "main", limit: 3).map(\.id) == ["m7", "m8", "m9"])
        let (third, seventh) = (try table.place(session: "main", id: "m3"), try table.place(session: "main", id: "m7"))
        #expect(try table.place(session: "main", id: "m0") == nil)
        #expect(try table.list(session: "main", before: seventh, limit: 3).map(\.id) == ["m4", "m5", "m6"])
        #expect(try table.list(session: "main", after: third, limit: 3).map(\.id) == ["m4", "m5", "m6"])
        #expect(try table.list(session: "main", after: seventh, limit: 3).map(\.id) == ["m8", "m9"])
        #expect(try table.list(session: "main", before: seventh, after: third, limit: 2).map(\.id) == ["m5", "m6"])
        #expect(try table.asOf(session: "main") == time(50))
    }

    @Test func `a page takes the place of what was kept between its ends`() throws {
        let log = try Log()
        let table = MessageTable(log.connection)
        try save((1...9).map { message("m\($0)", Int64($0)) }, session: "main", asOf: 50, in: table)
        let page = MessageTable.Page([message("m4", 4), message("n", 5), message("m7", 7)], conversation: "c1")
        try table.save(page, session: "main", asOf: time(60))
        #expect(
            try table.list(session: "main", limit: 20).map(\.id) == ["m1", "m2", "m3", "m4", "n", "m7", "m8", "m9"]
        )
        #expect(try table.conversations().mapValues(\.id) == [SessionKey(canonical: "main"): "c1"])
    }

    @Test func `a session that goes on with another conversation begins anew`() throws {
        let log = try Log()
        let table = MessageTable(log.connection)
        for conversation in ["c1", "c2"] {
            let page = MessageTable.Page([message(conversation, 4)], conversation: conversation)
            try table.save(page, session: "main", asOf: time(60))
            #expect(try table.list(session: "main", limit: 3).map(\.id) == [conversation])
        }
        try table.begin(session: "main", conversation: "c3", at: time(70))
        #expect(try table.list(session: "main", limit: 3) == [])
        #expect(try table.asOf(session: "main") == time(70))
        #expect(try table.conversations().mapValues(\.id) == [SessionKey(canonical: "main"): "c3"])
    }

    @Test func `the cache of messages is bounded in every direction`() throws {
        let log = try Log()
        var limits = MessageTable.Limits()
        limits.perSession = 10
        limits.sessions = 3
        limits.largestMessage = 100
        let table = MessageTable(log.connection, limits: limits)
        try save((1...50).map { message("m\($0)", Int64($0)) }, session: "s0", asOf: 1, in: table)
        #expect(try table.list(session: "s0", limit: 100).map(\.id) == (41...50).map { "m\($0)" })
        try table.save(message("big", 60, text: String(repeating: "x", count: 101)), session: "s0", asOf: time(2))
        #expect(try table.message(session: "s0", id: "big") == nil)
        for index in 1...5 as ClosedRange<Int64> {
            try table.save(message("m", 1), session: "s\(index)", asOf: time(10 + index))
        }
        let kept = try (0...5).filter { try table.asOf(session: "s\($0)") != nil }
        #expect(kept == [3, 4, 5])
    }

    @Test func `values are set, read and removed by space and name`() throws {
        let log = try Log()
        let table = ValueTable(log.connection)
        try table.set([1], space: "a", name: "x", at: time(1))
        try table.set([2], space: "a", name: "x", at: time(2))
        try table.set([3], space: "b", name: "x", at: time(3))
        #expect(try table.get(space: "a", name: "x")?.bytes == [2])
        #expect(try table.all(space: "a").map(\.name) == ["x"])
        try table.remove(space: "a", name: "x")
        #expect(try table.get(space: "a", name: "x") == nil)
    }
}
