import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Service

/// `init-conflict.v2026.6.11`: after a restart the gateway runs one message of each older session and refuses the next.
struct RefusingSessionsTests {
    private let main = SessionKey(canonical: "agent:main:main")
    private let fresh = SessionKey(canonical: "agent:main:new")
    private let start: Int64 = 1_795_000_000_000

    private func rows(_ turns: (user: Int64, isAnswered: Bool)...) -> [TranscriptRow] {
        let rows = turns.flatMap { turn in
            [#"{"role":"user","content":"hello","timestamp":\#(start + turn.user)}"#]
                + (turn.isAnswered
                    ? [
                        #"{"role":"assistant","content":"hi","stopReason":"stop","timestamp":\#(start + turn.user + 1)}"#
                    ] : [])
        }
        let page = ChatHistory.Output(json(#"{"messages":[\#(rows.joined(separator: ","))]}"#))
        return page.rows
    }

    private func restarted(_ version: String = "2026.6.11") -> RefusingSessions {
        var sessions = RefusingSessions()
        let process = GatewayProcess(
            ageMs: 1_000,
            gatewayTime: Timestamp(milliseconds: start + 1_000),
            monotonicMs: 5_000
        )
        sessions.linkOpened(GatewayProfile(.june, version: version), process, isSame: false)
        return sessions
    }

    @Test func `a session that is older than the process has one run`() {
        var sessions = restarted()
        let found1 = sessions.runBegan("a", in: main, rows((-5_000, true), (2_000, false)))
        #expect(found1 == .refuses)
    }

    @Test func `a completed run in a session that is new to the process cures all`() {
        var sessions = restarted()
        let found2 = sessions.runBegan("a", in: fresh, rows((2_000, false)))
        #expect(found2 == .nothing)
        let found3 = sessions.runEnded(in: main, isCompleted: true)
        #expect(found3 == .nothing)
        let found4 = sessions.runEnded(in: fresh, isCompleted: false)
        #expect(found4 == .nothing)
        let found5 = sessions.runEnded(in: fresh, isCompleted: true)
        #expect(found5 == .refusesNoMore)
        #expect(!sessions.wantsPages)
    }

    @Test func `a run that completed before its page was read cures too`() {
        var sessions = restarted()
        #expect(sessions.runEnded(in: fresh, isCompleted: true) == .nothing)
        #expect(sessions.runBegan("a", in: fresh, rows((2_000, true))) == .refusesNoMore)
    }

    @Test func `a second run in an old session shows that it was cured before`() {
        var sessions = restarted()
        let found6 = sessions.runBegan("b", in: main, rows((-5_000, true), (2_000, true), (9_000, false)))
        #expect(found6 == .refusesNoMore)
        sessions = restarted()
        let besideUnanswered = rows((-5_000, false), (2_000, true), (9_000, false))
        #expect(sessions.runBegan("b", in: main, besideUnanswered) == .refusesNoMore)
    }

    @Test func `other releases run everything`() {
        #expect(!restarted("2026.7.1").wantsPages)
    }

    @Test func `the same process is as it was`() {
        var sessions = restarted()
        sessions.linkOpened(GatewayProfile(.june, version: "2026.6.11"), nil, isSame: true)
        #expect(sessions.wantsPages)
    }
}
