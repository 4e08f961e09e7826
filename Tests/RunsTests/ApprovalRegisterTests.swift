import Basics
import Gateway
import JSONBytes
import Ledger
import TestSupport
import Testing

@testable import Runs

/// Each approval comes out twice: when it is asked for and when it ends.
struct ApprovalRegisterTests {
    private static let start: Int64 = 1_795_000_000_000

    private func at(_ ms: Int64) -> Timestamp { Timestamp(milliseconds: Self.start + ms) }

    private func approval(
        _ id: String,
        _ command: String = "date",
        created: Int64 = 0,
        lifeMs: Int64 = 120_000,
        kind: ApprovalEvent.Kind = .exec,
        seen: Int64? = nil,
        tellsStart: Bool = true,
        tellsEnd: Bool = true
    ) throws -> Approval {
        let start = tellsStart ? #","createdAtMs":\#(Self.start + created)"# : ""
        let end = tellsEnd ? #","expiresAtMs":\#(Self.start + created + lifeMs)"# : ""
        let text = """
            {"id":"\(id)","request":{"command":\(quoted(command)),"ask":"always","sessionKey":"agent:main:main"}\
            \(start)\(end)}
            """
        let event = ApprovalEvent(try JSONDocument(parsing: Array(text.utf8)).root, kind: kind)
        let now = at(seen ?? created)
        return try #require(
            Approval(event, session: "agent:main:main", commandSHA256: "hash of \(command)", now: now)
        )
    }

    private func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func resolved(_ id: String, _ decision: String, by name: String) throws -> ApprovalEvent {
        let text = #"{"id":"\#(id)","decision":"\#(decision)","resolvedBy":"\#(name)"}"#
        return ApprovalEvent(try JSONDocument(parsing: Array(text.utf8)).root, isResolved: true)
    }

    private func attempt(_ start: ApprovalRegister.Start) throws -> Int {
        guard case .send(_, let attempt) = start else {
            Issue.record("\(start)")
            return 0
        }
        return attempt
    }

    @Test func `an event and the lists that repeat it are one approval`() throws {
        var register = ApprovalRegister()
        let one = try approval("a")
        #expect(register.requested(one, now: at(0)) == [one])
        #expect(register.requested(one, now: at(1)) == [])
        let number = register.askList()
        #expect(register.listed([one], asked: number, now: at(2)) { $0.kind == .exec } == [])
        let ends = register.resolved(try resolved("a", "deny", by: "phone"), own: "Ladle", now: at(3))
        #expect(ends.map(\.state) == [.denied])
        #expect(ends.first?.decidedBy == "phone")
        #expect(ends.first?.via == .other)
        #expect(register.resolved(try resolved("a", "deny", by: "phone"), own: "Ladle", now: at(4)) == [])
        #expect(register.requested(one, now: at(5)) == [])
        #expect(register.pending.isEmpty)
    }

    @Test func `the margin before the end decides whether a decision is sent`() throws {
        for (offset, isSent) in [(Int64(-1), true), (0, false), (1, false)] {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            let start = register.start(.deny, of: "a", by: "owner", now: at(119_500 + offset))
            if case .send = start { #expect(isSent) } else { #expect(!isSent) }
        }
    }

    @Test func `its time is over a moment after the gateway's own end`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        #expect(register.nextEnd == at(121_000))
        #expect(register.tick(now: at(120_999)) == [])
        let ends = register.tick(now: at(121_000))
        #expect(ends.map(\.state) == [.expired])
        #expect(ends.first?.decidedBy == "timeout")
        #expect(ends.first?.decidedAt == at(120_000))
        #expect(register.tick(now: at(300_000)) == [])
    }

    @Test func `what may have been missed is unknown and not expired`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        register.mayHaveMissed()
        #expect(register.tick(now: at(121_000)).map(\.state) == [.unknown])

        var restored = ApprovalRegister()
        restored.restore([try approval("b")])
        #expect(restored.tick(now: at(121_000)).map(\.state) == [.unknown])
    }

    @Test func `an event before the answer ends it once`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let attempt = try attempt(register.start(.allowOnce, of: "a", by: "kitchen", now: at(1)))
        let ends = register.resolved(try resolved("a", "allow-once", by: "Ladle"), own: "Ladle", now: at(2))
        #expect(ends.map(\.state) == [.allowed])
        #expect(ends.first?.decidedBy == "kitchen")
        #expect(ends.first?.via == .ladle)
        #expect(register.answered("a", attempt: attempt, .accepted, now: at(3)) == [])
        #expect(register.start(.allowOnce, of: "a", by: "kitchen", now: at(4)) == .ended(ends[0]))
    }

    @Test func `another client's decision wins over ours on its way`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let attempt = try attempt(register.start(.allowOnce, of: "a", by: "kitchen", now: at(1)))
        #expect(register.start(.deny, of: "a", by: "hall", now: at(1)) == .underWay(try approval("a")))
        let ends = register.resolved(try resolved("a", "deny", by: "phone"), own: "Ladle", now: at(2))
        #expect(ends.first?.state == .denied)
        #expect(ends.first?.via == .other)
        #expect(register.answered("a", attempt: attempt, .refused(.gone), now: at(3)) == [])
    }

    @Test func `a lost answer is settled by the event, and else unknown`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        _ = register.requested(try approval("b"), now: at(0))
        for id in ["a", "b"] {
            let attempt = try attempt(register.start(.allowOnce, of: id, by: "kitchen", now: at(1)))
            #expect(register.answered(id, attempt: attempt, .lost, now: at(2)) == [])
            #expect(register[id]?.isPending == true)
        }
        let ends = register.resolved(try resolved("a", "allow-once", by: "Ladle"), own: "Ladle", now: at(9))
        #expect(ends.first?.via == .ladle)
        #expect(register.tick(now: at(121_000)).map(\.state) == [.unknown])
    }

    @Test func `a refusal ends it as far as it proves something`() throws {
        let cases: [(WaitingRefusal, Int64, Approval.State)] = [
            (.gone, 1_000, .unknown), (.gone, 118_500, .expired), (.resolved, 1_000, .unknown),
            (.runAborted, 1_000, .cancelled), (.alwaysUnavailable, 1_000, .pending),
        ]
        for (refusal, time, state) in cases {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            let attempt = try attempt(register.start(.allowOnce, of: "a", by: "kitchen", now: at(time)))
            _ = register.answered("a", attempt: attempt, .refused(refusal), now: at(time))
            #expect(register["a"]?.state == state, "\(refusal)")
        }
    }

    @Test func `a list closes what it does not show, except what came behind its question`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("old"), now: at(0))
        _ = register.requested(try approval("plugin", kind: .plugin), now: at(0))
        let number = register.askList()
        _ = register.requested(try approval("new", created: 1), now: at(1))
        let news = register.listed([], asked: number, now: at(2)) { $0.kind == .exec }
        #expect(news.map(\.id) == ["old"])
        #expect(news.map(\.state) == [.unknown])
        #expect(register.pending.map(\.id) == ["plugin", "new"])
    }

    @Test func `what waits when the gateway stops is cancelled, what may have been missed is unknown`() throws {
        for (says, state) in [(true, Approval.State.cancelled), (false, .unknown)] {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            if says { register.gatewayStops() }
            register.mayHaveMissed()
            #expect(register.linkOpened(process: .other, hasList: false, now: at(9)).map(\.state) == [state])
        }
        var same = ApprovalRegister()
        _ = same.requested(try approval("a"), now: at(0))
        same.mayHaveMissed()
        #expect(same.linkOpened(process: .same, hasList: false, now: at(9)) == [])
        #expect(same.linkOpened(process: .either, hasList: false, now: at(9)) == [])
        // A list decides, whatever became of the process: the newest releases keep approvals on disk.
        #expect(same.linkOpened(process: .other, hasList: true, now: at(9)) == [])
        let number = same.askList()
        #expect(same.listed([try approval("a")], asked: number, now: at(10)) { $0.kind == .exec } == [])
        #expect(same.tick(now: at(121_000)).map(\.state) == [.expired])
    }

    @Test func `its run's end cancels it once the list has it no more`() throws {
        var register = ApprovalRegister()
        var one = try approval("a")
        one.runID = "run"
        _ = register.requested(one, now: at(0))
        let isAffected = (register.runEnded("another"), register.runEnded("run"))
        #expect(isAffected == (false, true))
        #expect(register["a"]?.isPending == true)
        let number = register.askList()
        #expect(register.listed([], asked: number, now: at(1)) { $0.kind == .exec }.map(\.state) == [.cancelled])
    }

    @Test func `its end is unknown where its run and its time were both over before the list`() throws {
        var register = ApprovalRegister()
        var one = try approval("a")
        one.runID = "run"
        _ = register.requested(one, now: at(0))
        _ = register.runEnded("run")
        let number = register.askList()
        #expect(register.listed([], asked: number, now: at(121_000)) { $0.kind == .exec }.map(\.state) == [.unknown])
    }

    @Test func `an approval that outlives its run and cannot be asked about expires`() throws {
        var register = ApprovalRegister()
        var one = try approval("a")
        one.runID = "run"
        _ = register.requested(one, now: at(0))
        _ = register.runEnded("run")
        #expect(register.tick(now: at(121_000)).map(\.state) == [.expired])
    }

    @Test func `an id that comes again with another command is another question`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a", "ls"), now: at(0))
        let news = register.requested(try approval("a", "rm -rf /", created: 5), now: at(5))
        #expect(news.map(\.state) == [.unknown, .pending])
        #expect(register["a"]?.command == "rm -rf /")
        #expect(register.start(.deny, of: "a-longer", by: "owner", now: at(6)) == .notFound)
    }

    @Test func `more than are kept wait for room, and no list makes them change places`() throws {
        var register = ApprovalRegister()
        let all = try (0..<200).map { try approval("a\($0)", created: Int64($0)) }
        for round in 0..<3 {
            let number = register.askList()
            let news = register.listed(all, asked: number, now: at(300)) { $0.kind == .exec }
            #expect(news.count == (round == 0 ? ApprovalLimits.pending : 0))
            #expect(news.filter(\.isPending) == news)
            #expect(register.isOverfull)
        }
        for one in all.prefix(100) {
            _ = register.resolved(try resolved(one.id, "deny", by: "phone"), own: "Ladle", now: at(400))
        }
        #expect(register.recent.count == ApprovalLimits.ended)
        let number = register.askList()
        let news = register.listed(Array(all.dropFirst(100)), asked: number, now: at(500)) { $0.kind == .exec }
        #expect(news.map(\.id) == (128..<200).map { "a\($0)" })
        #expect(!register.isOverfull)
    }

    @Test func `what ended long ago is not asked for again by a list that repeats it`() throws {
        var register = ApprovalRegister()
        let all = try (0..<200).map { try approval("a\($0)", created: Int64($0)) }
        for one in all {
            _ = register.requested(one, now: at(300))
            _ = register.resolved(try resolved(one.id, "deny", by: "phone"), own: "Ladle", now: at(400))
        }
        let repeated = all.flatMap { register.requested($0, now: at(500)) }
        #expect(repeated == [])
        // Also where an earlier process saw the end.
        var later = ApprovalRegister()
        later.restore([], ended: all.map(\.identity))
        let restored = all.flatMap { later.requested($0, now: at(500)) }
        #expect(restored == [])
        let other = try approval("a1", "rm -rf /", created: 1)
        #expect(later.requested(other, now: at(500)) == [other])
    }

    @Test func `without a time of its own a repetition is the same question`() throws {
        var register = ApprovalRegister()
        let first = try approval("a", tellsStart: false)
        #expect(register.requested(first, now: at(0)).count == 1)
        let again = try approval("a", seen: 5_000, tellsStart: false)
        #expect(again.createdAt != first.createdAt)
        #expect(register.requested(again, now: at(5_000)) == [])
        #expect(register.requested(try approval("a", "rm", seen: 6_000, tellsStart: false), now: at(6_000)).count == 2)
    }

    @Test func `an end that the gateway did not tell is no end`() throws {
        let day: Int64 = 86_400_000
        let untold = try approval("a", tellsEnd: false)
        let far = try approval("b", lifeMs: 7 * day)
        #expect(untold.expiresAt == at(1_800_000))
        #expect(far.expiresAt == at(day))
        for one in [untold, far] {
            var register = ApprovalRegister()
            _ = register.requested(one, now: at(0))
            let over = one.expiresAt.adding(milliseconds: 1_000)
            // Nobody can be asked: what became of it is not known.
            var deaf = register
            #expect(deaf.tick(now: over).map(\.state) == [.unknown])
            let wishes = (register.tick(now: over) { $0.kind == .exec }, register.takeListRequest())
            #expect(wishes.0 == [])
            #expect(wishes.1)
            // It waits, so it is followed further, and can be decided.
            var again = one
            again.expiresAt = over.adding(milliseconds: 1_800_000)
            let number = register.askList()
            #expect(register.listed([again], asked: number, now: over) { $0.kind == .exec } == [])
            guard case .send = register.start(.deny, of: one.id, by: "o", now: over) else {
                Issue.record("it cannot be decided")
                return
            }
        }
    }

    @Test func `a list decides whether the time is over, and no clock of ours`() throws {
        for isListed in [true, false] {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            // Our clock goes an hour forward.
            #expect(register.tick(now: at(3_600_000)) { $0.kind == .exec } == [])
            let wish = register.takeListRequest()
            #expect(wish)
            let number = register.askList()
            let rows = isListed ? [try approval("a")] : []
            let ends = register.listed(rows, asked: number, now: at(3_600_000)) { $0.kind == .exec }
            #expect(ends.map(\.state) == (isListed ? [] : [.expired]))
            guard isListed else { continue }
            #expect(register.tick(now: at(3_600_001)) { $0.kind == .exec } == [])
            guard case .send = register.start(.deny, of: "a", by: "o", now: at(3_600_001)) else {
                Issue.record("it cannot be decided")
                return
            }
        }
        // A gateway that does not answer the question is not waited for.
        var silent = ApprovalRegister()
        _ = silent.requested(try approval("a"), now: at(0))
        #expect(silent.tick(now: at(121_000)) { $0.kind == .exec } == [])
        #expect(silent.tick(now: at(180_999)) { $0.kind == .exec } == [])
        #expect(silent.tick(now: at(181_000)) { $0.kind == .exec }.map(\.state) == [.expired])
    }

    @Test func `who gave a decision whose answer was lost is named when it shows, also behind another decision`() throws
    {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let first = try attempt(register.start(.allowOnce, of: "a", by: "kitchen", now: at(1)))
        #expect(register.answered("a", attempt: first, .lost, now: at(2)) == [])
        let second = try attempt(register.start(.deny, of: "a", by: "hall", now: at(3)))
        let ends = register.resolved(try resolved("a", "allow-once", by: "Ladle"), own: "Ladle", now: at(4))
        #expect(ends.first?.decidedBy == "kitchen")
        #expect(ends.first?.via == .ladle)
        #expect(register.answered("a", attempt: second, .refused(.resolved), now: at(5)) == [])
    }

    @Test func `a list from before a loss does not prove that the decision was lost`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let number = register.askList()
        let sent = try attempt(register.start(.allowOnce, of: "a", by: "kitchen", now: at(1)))
        _ = register.answered("a", attempt: sent, .lost, now: at(2))
        _ = register.listed([try approval("a")], asked: number, now: at(3)) { $0.kind == .exec }
        #expect(register.tick(now: at(121_000)).map(\.state) == [.unknown])
    }

    @Test func `a row that does not tell its question still waits`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let number = register.askList()
        #expect(register.listed([], unread: ["a"], asked: number, now: at(1)) { $0.kind == .exec } == [])
    }

    @Test func `what the gateway keeps without its run is not cancelled with it`() throws {
        var register = ApprovalRegister()
        var one = try approval("a")
        one.runID = "run"
        _ = register.requested(one, now: at(0))
        _ = register.runEnded("run")
        // As 2026.6.11 after `chat.abort`.
        let first = register.askList()
        #expect(register.listed([one], asked: first, now: at(1)) { $0.kind == .exec } == [])
        #expect(register.tick(now: at(121_000)) { $0.kind == .exec } == [])
        let second = register.askList()
        #expect(register.listed([], asked: second, now: at(121_000)) { $0.kind == .exec }.map(\.state) == [.expired])
    }

    /// In every order of events an approval is asked for once and ends at most once.
    @Test(arguments: [1, 2, 3, 4]) func `every order of events gives each approval one end`(seed: UInt64) throws {
        var random = SeededRandom(seed)
        for _ in 0..<200 {
            var register = ApprovalRegister()
            var asked: [String: Int] = [:]
            var ended: [String: Int] = [:]
            var attempts: [(String, Int)] = []
            var lists: [Int] = []
            var now: Int64 = 0
            func note(_ news: [Approval]) {
                for one in news {
                    if one.isPending { asked[one.id, default: 0] += 1 } else { ended[one.id, default: 0] += 1 }
                }
            }
            for _ in 0..<60 {
                now += Int64(random.next() % 4_000)
                let id = "a\(random.next() % 3)"
                switch random.next() % 10 {
                case 0, 1: note(register.requested(try approval(id), now: at(now)))
                case 2: note(register.resolved(try resolved(id, "deny", by: "Ladle"), own: "Ladle", now: at(now)))
                case 3, 4:
                    if case .send(_, let attempt) = register.start(.deny, of: id, by: "o", now: at(now)) {
                        attempts.append((id, attempt))
                    }
                case 5:
                    guard let (id, attempt) = attempts.popLast() else { continue }
                    let answers: [ApprovalRegister.Answer] = [
                        .accepted, .lost, .nothing, .refused(.gone), .refused(.resolved), .refused(.runAborted),
                    ]
                    let answer = answers[Int(random.next() % 6)]
                    note(register.answered(id, attempt: attempt, answer, now: at(now)))
                case 6: lists.append(register.askList())
                case 7:
                    guard let number = lists.popLast() else { continue }
                    let rows = random.next() % 2 == 0 ? [] : [try approval(id)]
                    note(register.listed(rows, asked: number, now: at(now)) { $0.kind == .exec })
                case 8:
                    register.mayHaveMissed()
                    if random.next() % 2 == 0 { register.gatewayStops() }
                    note(
                        register.linkOpened(
                            process: random.next() % 2 == 0 ? .same : .other,
                            hasList: false,
                            now: at(now)
                        )
                    )
                default: note(register.tick(now: at(now)))
                }
            }
            for (id, attempt) in attempts { note(register.answered(id, attempt: attempt, .lost, now: at(now))) }
            note(register.tick(now: at(now + 200_000)))
            #expect(register.pending.isEmpty)
            #expect(asked.values.allSatisfy { $0 == 1 })
            #expect(ended == asked)
        }
    }
}
