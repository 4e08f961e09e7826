import Basics
import Gateway
import JSONBytes
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
        kind: ApprovalEvent.Kind = .exec
    ) throws -> Approval {
        let text = """
            {"id":"\(id)","request":{"command":\(quoted(command)),"ask":"always","sessionKey":"agent:main:main"},\
            "createdAtMs":\(Self.start + created),"expiresAtMs":\(Self.start + created + lifeMs)}
            """
        let event = ApprovalEvent(try JSONDocument(parsing: Array(text.utf8)).root, kind: kind)
        return try #require(
            Approval(event, session: "agent:main:main", commandSHA256: "hash of \(command)", now: at(created))
        )
    }

    private func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
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
        #expect(register.listed([one], of: .exec, asked: number, now: at(2)) == [])
        let ends = register.resolved("a", "deny", by: "phone", own: "Ladle", at: at(3))
        #expect(ends.map(\.state) == [.denied])
        #expect(ends.first?.decidedBy == "phone")
        #expect(ends.first?.via == .other)
        #expect(register.resolved("a", "deny", by: "phone", own: "Ladle", at: at(4)) == [])
        #expect(register.requested(one, now: at(5)) == [])
        #expect(register.pending.isEmpty)
    }

    @Test func `the margin before the end decides whether a decision is sent`() throws {
        for (offset, isSent) in [(Int64(-1), true), (0, false), (1, false)] {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            let start = register.decide("a", .deny, by: "owner", now: at(119_500 + offset))
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
        let attempt = try attempt(register.decide("a", .allowOnce, by: "kitchen", now: at(1)))
        let ends = register.resolved("a", "allow-once", by: "Ladle", own: "Ladle", at: at(2))
        #expect(ends.map(\.state) == [.allowed])
        #expect(ends.first?.decidedBy == "kitchen")
        #expect(ends.first?.via == .ladle)
        #expect(register.answered("a", attempt: attempt, .accepted, now: at(3)) == [])
        #expect(register.decide("a", .allowOnce, by: "kitchen", now: at(4)) == .ended(ends[0]))
    }

    @Test func `another client's decision wins over ours on its way`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        let attempt = try attempt(register.decide("a", .allowOnce, by: "kitchen", now: at(1)))
        #expect(register.decide("a", .deny, by: "hall", now: at(1)) == .underWay)
        let ends = register.resolved("a", "deny", by: "phone", own: "Ladle", at: at(2))
        #expect(ends.first?.state == .denied)
        #expect(ends.first?.via == .other)
        #expect(register.answered("a", attempt: attempt, .refused(.gone), now: at(3)) == [])
    }

    @Test func `a lost answer is settled by the event, and else unknown`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a"), now: at(0))
        _ = register.requested(try approval("b"), now: at(0))
        for id in ["a", "b"] {
            let attempt = try attempt(register.decide(id, .allowOnce, by: "kitchen", now: at(1)))
            #expect(register.answered(id, attempt: attempt, .lost, now: at(2)) == [])
            #expect(register[id]?.isPending == true)
        }
        let ends = register.resolved("a", "allow-once", by: "Ladle", own: "Ladle", at: at(9))
        #expect(ends.first?.via == .ladle)
        #expect(register.tick(now: at(121_000)).map(\.state) == [.unknown])
    }

    @Test func `a refusal ends it as far as it proves something`() throws {
        let cases: [(ApprovalRefusal, Int64, Approval.State)] = [
            (.gone, 1_000, .unknown), (.gone, 118_500, .expired), (.resolved, 1_000, .unknown),
            (.runAborted, 1_000, .cancelled), (.alwaysUnavailable, 1_000, .pending),
        ]
        for (refusal, time, state) in cases {
            var register = ApprovalRegister()
            _ = register.requested(try approval("a"), now: at(0))
            let attempt = try attempt(register.decide("a", .allowOnce, by: "kitchen", now: at(time)))
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
        let news = register.listed([], of: .exec, asked: number, now: at(2))
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
            #expect(register.linkOpened(isSameProcess: false, hasList: false, now: at(9)).map(\.state) == [state])
        }
        var same = ApprovalRegister()
        _ = same.requested(try approval("a"), now: at(0))
        same.mayHaveMissed()
        #expect(same.linkOpened(isSameProcess: true, hasList: false, now: at(9)) == [])
        #expect(same.linkOpened(isSameProcess: nil, hasList: false, now: at(9)) == [])
        // A list decides, whatever became of the process: the newest releases keep approvals on disk.
        #expect(same.linkOpened(isSameProcess: false, hasList: true, now: at(9)) == [])
        let number = same.askList()
        #expect(same.listed([try approval("a")], of: .exec, asked: number, now: at(10)) == [])
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
        #expect(register.listed([], of: .exec, asked: number, now: at(1)).map(\.state) == [.cancelled])
    }

    @Test func `an id that comes again with another command is another question`() throws {
        var register = ApprovalRegister()
        _ = register.requested(try approval("a", "ls"), now: at(0))
        let news = register.requested(try approval("a", "rm -rf /", created: 5), now: at(5))
        #expect(news.map(\.state) == [.unknown, .pending])
        #expect(register["a"]?.command == "rm -rf /")
        #expect(register.decide("a-longer", .deny, by: "owner", now: at(6)) == .notFound)
    }

    @Test func `memory is bounded, and what makes room has its end`() throws {
        var register = ApprovalRegister()
        var asked = 0
        var ended = 0
        for number in 0..<1_000 {
            for news in register.requested(try approval("a\(number)", created: Int64(number)), now: at(Int64(number))) {
                if news.isPending { asked += 1 } else { ended += 1 }
            }
        }
        #expect(asked == 1_000)
        #expect(register.pending.count == ApprovalLimits.pending)
        #expect(ended == 1_000 - ApprovalLimits.pending)
        #expect(register.recent.count == ApprovalLimits.ended)
    }

    /// Whatever happens in whatever order, an approval is asked for once and ends at most once.
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
                case 2: note(register.resolved(id, "deny", by: "Ladle", own: "Ladle", at: at(now)))
                case 3, 4:
                    if case .send(_, let attempt) = register.decide(id, .deny, by: "o", now: at(now)) {
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
                    note(register.listed(rows, of: .exec, asked: number, now: at(now)))
                case 8:
                    register.mayHaveMissed()
                    if random.next() % 2 == 0 { register.gatewayStops() }
                    note(register.linkOpened(isSameProcess: random.next() % 2 == 0, hasList: false, now: at(now)))
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
