import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// The evidence that the gateway has a message on disk.
struct DeliveryProofTests: EvidenceScene {
    @Test func `in a new session only a page shows that a message is on disk`() {
        var tracker = half(GatewayProfile(.june), isDelivered: false)
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(user("story", at: 0, key: "k"))}"#
        )
        #expect(tracker.receive(event: "session.message", payload: row, now: now).isEmpty)
        let rows = page([user("story", at: 0, key: "k")], status: "running", active: true)
        #expect(tracker.receive(history: rows, session: main, now: now) == [.proven("k", .row)])
        _ = tracker.receive(event: "chat", payload: ChatFrame.final("k", 9, "Half of it."), now: now)

        tracker.sent("k2", session: main, text: "more", now: after(9_000))
        _ = tracker.receive(
            event: "agent",
            payload: AgentFrame.start("k2", now.milliseconds + 9_100),
            now: after(9_100)
        )
        let next = json(
            #"{"sessionKey":"agent:main:main","messageId":"m2","message":\#(user("more", at: 9_050, key: "k2"))}"#
        )
        #expect(
            tracker.receive(event: "session.message", payload: next, now: after(9_200)) == [.proven("k2", .rowEvent)]
        )
        let final = tracker.receive(event: "chat", payload: ChatFrame.final("k2", 9, "Yes."), now: after(9_300))
        #expect(final.contains(.proven("k2", .end)))
    }

    @Test func `a notice of a message that is not written yet shows nothing`() {
        var tracker = half(april, isDelivered: false)
        _ = tracker.receive(history: page([answer("before", at: -5_000)]), session: main, now: now)
        let notice = json(
            #"{"sessionKey":"agent:main:main","message":{"role":"user","content":"story","timestamp":1795000000000,"__openclaw":{"seq":3}}}"#
        )
        #expect(tracker.receive(event: "session.message", payload: notice, now: now).isEmpty)
        let stored = json(#"{"sessionKey":"agent:main:main","messageId":"m","message":\#(user("story", at: 0))}"#)
        #expect(tracker.receive(event: "session.message", payload: stored, now: now) == [.proven("k", .rowEvent)])
    }

    @Test func `a message that the gateway acknowledged and refuses to run has no run`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        let words = "Error: reply session initialization conflicted for agent:main:main"
        let error = ChatFrame.make("k", 1, "error", #","errorMessage":"\#(words)""#)
        #expect(tracker.receive(event: "chat", payload: error, now: now) == [.refused("k", reason: words)])
        #expect(tracker.run("k") == nil)
    }

    /// A page names the newest send as under way, and then the gateway refuses it.
    @Test(arguments: [false, true])
    func `a message that was called under way and then refused is not proven by that`(wasKilled: Bool) {
        var tracker = RunTracker()
        if wasKilled {
            tracker.followRun("k", session: main, startedAt: now, message: "story", delivery: .open, now: now)
        } else {
            tracker.sent("k", session: main, text: "story", now: now)
            let named = json(#"{"messages":[],"inFlightRun":{"runId":"k","text":""}}"#)
            let changes = tracker.receive(history: named, session: main, now: after(100))
            #expect(changes.isEmpty, "it may wait behind another")
        }
        tracker.linkOpened(process: .other, now: after(1_000))
        tracker.sent("k", session: main, text: "story", now: after(2_000))
        let words = "Error: reply session initialization conflicted for agent:main:main"
        let error = ChatFrame.make("k", 1, "error", #","errorMessage":"\#(words)""#)
        let changes = tracker.receive(event: "chat", payload: error, now: after(2_100))
        #expect(changes.first == .refused("k", reason: words))
        #expect(!changes.contains(.proven("k", .end)))
        #expect(ends(changes).map(\.state) == (wasKilled ? [.failed] : []))
        #expect(ends(changes).first?.error == (wasKilled ? words : nil))
        #expect(ends(changes).first?.mayReturn == (wasKilled ? true : nil), "the next prompt may have its words")
    }

    @Test func `a message that was written and refused while nobody listened has a run that failed`() {
        var tracker = RunTracker()
        tracker.followUnseen("k", session: main, text: "story", sentAt: now)
        tracker.linkOpened(process: .same, now: after(1_000))
        let rows = page(
            [user("one", at: -900), answer("One.", at: -500), user("story", at: 0, key: "k")],
            status: "failed"
        )
        let changes = tracker.receive(history: rows, session: main, now: after(2_000))
        #expect(ends(changes).map(\.state) == [.failed])
        #expect(ends(changes).first?.error == Ending.unknownEnd)
    }

    /// The row is written on refusal too. It may come as an event, or in a page with an answer of another run behind it.
    @Test func `the row of a message that was never seen at work proves nothing`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        tracker.relink(now: after(1_000))
        let before = [user("one", at: -900), answer("One.", at: -500)]
        _ = tracker.receive(history: page(before), session: main, now: after(1_000))
        let row = json(
            #"{"sessionKey":"agent:main:main","messageId":"m","message":\#(user("story", at: 0, key: "k"))}"#
        )
        let rows = page(before + [user("story", at: 0, key: "k")], status: "failed")
        let changes =
            tracker.receive(event: "session.message", payload: row, now: after(1_100))
            + tracker.receive(history: rows, session: main, now: after(1_200))
        #expect(!changes.contains { if case .proven = $0 { true } else { false } })
    }

    @Test func `the gateway's word decides about a message whose row stands alone`() {
        let words = "Error: reply session initialization conflicted for agent:main:main"
        for (word, expected) in [
            (AgentWait.Output.draining, RunChange?.none), (.ended, nil),
            (.failed(words), .refused("k", reason: words)),
        ] {
            var tracker = RunTracker()
            tracker.sent("k", session: main, text: "story", now: now)
            tracker.relink(now: after(1_000))
            let rows = page([user("story", at: 0, key: "k")], status: "running", active: true)
            _ = tracker.receive(history: rows, session: main, now: after(1_100))
            #expect(tracker.questions(main, now: after(1_100)) == [.state(of: "k")])
            #expect(tracker.receive(word, run: "k", now: after(1_200)).first == expected)
        }
    }

    @Test func `a message at work is proven by its row at once`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds + 500), now: after(500))
        let rows = page([user("story", at: 0, key: "k")], status: "running", active: true)
        #expect(tracker.receive(history: rows, session: main, now: after(600)).contains(.proven("k", .row)))
    }

    /// A page or an event that begins behind its user's row, of a run that began while nobody listened.
    @Test func `a row of the next process is not the work of a run whose process is gone`() {
        var tracker = half(GatewayProfile(.june))
        tracker.linkLost()
        tracker.linkOpened(process: .other, startedAt: after(4_000), now: after(5_000))
        for (time, owner) in [(Int64(3_900), "k" as String?), (4_100, nil)] {
            let turns = TranscriptTurn.split([TranscriptRow(json(answer("Of another.", at: time)))].compactMap(\.self))
            #expect(tracker.owners(of: turns, session: main)[0] == owner)
        }
    }

    @Test func `a row of another channel is not a run's whose own row has its key`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        let rows = [user("from a phone", at: 1), user("story", at: 0, key: "k")]
        let turns = TranscriptTurn.split(rows.compactMap { TranscriptRow(json($0)) })
        #expect(tracker.owners(of: turns, session: main) == [1: "k"])
    }

    /// The gateway is killed in the run, then Ladle; another message, stopped before its run, has the last row.
    @Test(arguments: ["Half of", ""])
    func `a message that an earlier process of Ladle saw at work is proven by its row`(text: String) {
        var tracker = RunTracker()
        tracker.followRun("k", session: main, startedAt: now, message: "story", text: text, delivery: .open, now: now)
        tracker.linkOpened(process: .other, now: after(5_000))
        let rows = page([user("story", at: -100, key: "k"), user("and this", at: 900, key: "k2")], status: "killed")
        let changes = tracker.receive(history: rows, session: main, now: after(5_100))
        #expect(changes.contains(.proven("k", .row)) != text.isEmpty)
    }

    /// 2026.6.11, seen live: the gateway restarts within its process, Ladle is killed and sends the message again. The gateway calls it
    /// under way, ends it without a word and does not run it; the next prompt has its row.
    @Test func `an empty end of a run of which no work was seen is no answer`() {
        for end in ["failed", "done"] {
            var tracker = RunTracker()
            tracker.followUnseen("k", session: main, text: "story", sentAt: now, delivery: .open)
            tracker.linkOpened(process: .either, now: after(1_000))
            let named = json(#"{"messages":[],"inFlightRun":{"runId":"k","text":""}}"#)
            _ = tracker.receive(history: named, session: main, now: after(1_100))
            let empty = ChatFrame.make("k", 1, "final")
            let first = tracker.receive(event: "chat", payload: empty, now: after(1_200))
            let wantsPage = tracker.takePageRequest()
            #expect(ends(first).isEmpty && wantsPage)
            let idle = page([user("story", at: 0, key: "k")], status: end)
            let second = tracker.receive(history: idle, session: main, now: after(1_300))
            #expect(ends(second).isEmpty)
            #expect(tracker.questions(main, now: after(1_300)) == [.state(of: "k")])
            let stale = AgentWait.Output.failed("stale gateway lifecycle")
            #expect(tracker.receive(stale, run: "k", now: after(1_400)) == [.proven("k", .row)])
            // The session's last end is no completed answer where the message's row stands alone.
            var last: [Run] = []
            for second in [2, 6] {
                last += ends(tracker.receive(history: idle, session: main, now: after(Int64(second) * 1_000)))
            }
            #expect(last.map(\.state) == [.failed] && last.first?.mayReturn == true, "\(end)")
        }
    }

    /// 2026.6.11, seen live: another client wrote in the same new session, and the gateway lost the row of a message at work. Its error came
    /// while the link was away.
    @Test(
        arguments: [
            (.failed("session file changed"), "session file changed", true), (.ended, Ending.unknownEnd, true),
            (.failed("stale gateway lifecycle"), nil, false), (.unknown, nil, false),
        ] as [(AgentWait.Output, String?, Bool)]
    )
    func `a message at work without a row was delivered if its run's process says that it is over`(
        word: AgentWait.Output,
        error: String?,
        isProven: Bool
    ) {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        tracker.relink(now: after(1_000))
        let others = page([user("theirs", at: 400, key: "x"), answer("Theirs.", at: 900)], status: "done")
        #expect(ends(tracker.receive(history: others, session: main, now: after(1_100))).isEmpty)
        #expect(tracker.questions(main, now: after(1_100)) == [.state(of: "k")])
        let changes = tracker.receive(word, run: "k", now: after(1_200))
        #expect(changes == (isProven ? [.proven("k", .end)] : []))
        guard isProven else { return }
        let ended = ends(tracker.receive(history: others, session: main, now: after(2_000)))
        #expect(ended.map(\.error) == [error] && ended.map(\.state) == [.failed])
    }

    /// 2026.4.26, seen live: our run had failed and might be tried again when the gateway was killed in another client's run. It went on with
    /// that one.
    @Test func `the gateway's prompt goes on with one run`() {
        var tracker = RunTracker()
        tracker.profile = april
        tracker.sent("k", session: main, text: "story", now: now)
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
        let failure = AgentFrame.make("k", 2, "lifecycle", #"{"phase":"error","error":"400"}"#, at: 50)
        _ = tracker.receive(event: "agent", payload: failure, now: after(50))
        _ = tracker.receive(event: "agent", payload: AgentFrame.start("x", now.milliseconds + 1_000), now: after(1_000))
        tracker.relink(process: .other, now: after(5_000))
        let prompt = user(notice, at: 6_000)
        let first = goOn(&tracker, prompt, at: 6_000)
        #expect(first.contains(.reassigned(from: "x", to: "g", isShared: false)))
        let rows = [user("story", at: 0), answer("", at: 40, "error"), user("theirs", at: 1_000), prompt]
        let second = tracker.receive(history: page(rows), session: main, now: after(6_100))
        #expect(!second.contains { if case .reassigned = $0 { true } else { false } }, "\(second)")
    }

    /// 2026.4.26, seen live: another client began the same session, and the gateway shows the conversation of that one alone.
    @Test func `so was one whose conversation the gateway has lost`() {
        for profile in [march, april] {
            var tracker = RunTracker()
            tracker.profile = profile
            tracker.followRun(
                "k",
                session: main,
                startedAt: now,
                message: "story",
                text: "Half",
                delivery: .open,
                now: now
            )
            tracker.linkOpened(process: .same, now: after(1_000))
            let others = page([user("theirs", at: 400), answer("Theirs.", at: 900)])
            _ = tracker.receive(history: others, session: main, now: after(1_100))
            #expect(tracker.receive(.ended, run: "k", now: after(1_200)) == [.proven("k", .end)], "\(profile.name)")
        }
    }

    /// 2026.6.11, seen live: the same restart, and nothing says how the run ended.
    @Test func `a run whose end is unknown may return where the gateway reads its row with the next message`() {
        for (profile, mayReturn) in [(GatewayProfile(.june), true), (march, false)] {
            var tracker = RunTracker()
            tracker.profile = profile
            tracker.followRun("k", session: main, startedAt: now, message: "story", delivery: .over, now: now)
            tracker.linkOpened(process: .either, now: after(1_000))
            let idle = page([user("story", at: 0, key: "k")], status: "idle")
            var ended: [Run] = []
            for second in [1, 5, 9] {
                ended += ends(tracker.receive(history: idle, session: main, now: after(Int64(second) * 1_000)))
            }
            #expect(ended.map(\.error) == [Ending.unknownEnd], "\(profile.name)")
            #expect(ended.first?.mayReturn == mayReturn, "\(profile.name)")
        }
    }

    /// 2026.6.11, seen live: after a restart within its process the gateway wrote the message's row and words of its own behind it. The
    /// next prompt had the message.
    @Test func `a message that failed before the model was asked may return`() {
        let failure = injected("⚠️ Agent failed before reply: Agent run belongs to a stale gateway lifecycle.", at: 40)
        for (row, mayReturn) in [(failure, true), (answer("Half", at: 40, "error"), false)] {
            var tracker = RunTracker()
            tracker.followUnseen("k", session: main, text: "story", sentAt: now)
            tracker.linkOpened(process: .either, now: after(1_000))
            let rows = page([user("story", at: 0, key: "k"), row], status: "failed")
            let ended = ends(tracker.receive(history: rows, session: main, now: after(1_100)))
            #expect(ended.map(\.state) == [.failed] && ended.first?.mayReturn == mayReturn)
        }
    }

    /// Seen live on all three: the model's provider answered with an error, and the next prompt had the message.
    @Test func `so may one to which the model's provider answered with an error`() {
        let nothing = answer("", at: 40, "error").replacing(#"[{"type":"text","text":""}]"#, with: "[]")
        let april = answer("[assistant turn failed before producing content]", at: 40, "error")
        let june = answer("The agent run failed before producing a reply.", at: 40, "error")
        for (profile, nothing) in [(march, nothing), (self.april, april), (GatewayProfile(.june), june)] {
            var tracker = RunTracker()
            tracker.profile = profile
            tracker.followUnseen("k", session: main, text: "story", sentAt: now)
            tracker.linkOpened(process: .either, now: after(1_000))
            let rows = page([user("story", at: 0, key: "k"), nothing], status: "failed")
            let ended = ends(tracker.receive(history: rows, session: main, now: after(1_100)))
            #expect(ended.map(\.state) == [.failed] && ended.first?.mayReturn == true, "\(profile.name)")
        }
    }

    /// 2026.6.11, seen live: the gateway lost the whole answer, and the next prompt had the message again.
    @Test func `a run that failed behind its whole answer may return if that is in no row`() {
        for hasRow in [false, true] {
            var tracker = RunTracker()
            tracker.sent("k", session: main, text: "story", now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("k"), now: now)
            _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, "Once."), now: after(900))
            if hasRow {
                let rows = page([user("story", at: 0, key: "k"), answer("Once.", at: 950, "error")], active: true)
                _ = tracker.receive(history: rows, session: main, now: after(960))
            }
            let failure = ChatFrame.make("k", 3, "error")
            let ended = ends(tracker.receive(event: "chat", payload: failure, now: after(1_000)))
            #expect(ended.map(\.state) == [.failed] && ended.first?.mayReturn == !hasRow, "\(hasRow)")
        }
    }

    /// 2026.6.11, recording reset-by-other: the link was away when the gateway refused the message.
    @Test func `a refusal that was missed is not taken for the end of a run`() {
        var tracker = RunTracker()
        tracker.sent("k", session: main, text: "story", now: now)
        tracker.relink(process: .same, now: after(1_000))
        let rows = page([user("story", at: 20, key: "k")], status: "failed")
        #expect(tracker.receive(history: rows, session: main, now: after(1_100)).isEmpty)
        #expect(tracker.questions(main, now: after(1_200)) == [.state(of: "k")])
        let words = "Error: reply session initialization conflicted for agent:main:main"
        #expect(tracker.receive(.failed(words), run: "k", now: after(1_300)) == [.refused("k", reason: words)])
    }
}
