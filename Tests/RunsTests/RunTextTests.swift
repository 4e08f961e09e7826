import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

@testable import Runs

/// The texts of a run whose events were missed in part: a final text of 2026.6.11 has all messages without a break.
@Suite struct RunTextTests: EvidenceScene {
    private func row(_ text: String, _ stop: String, isNote: Bool = false) throws -> TranscriptRow {
        let note = isNote ? #","model":"gateway-injected","openclawAbort":{"aborted":true,"runId":"k"}"# : ""
        let value = json(
            #"{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"stopReason":"\#(stop)"\#(note),"#
                + #""__openclaw":{"id":"\#(text)"}}"#
        )
        return try #require(TranscriptRow(value))
    }

    private func told(_ last: String, _ rows: [TranscriptRow], wasAborted: Bool = true) -> String {
        var text = RunText()
        // Each page has them again.
        for _ in 0..<2 { text.take(rows) }
        if wasAborted { text.aborted(with: last) } else { text.ended(with: last) }
        text.settle(wasAborted: wasAborted)
        return text.published
    }

    @Test func `its rows say where a message ends`() throws {
        let first = try row("Let me look. ", "toolUse")
        let second = try row("And there.", "toolUse")
        let third = try row("You said", "aborted")
        for wasAborted in [true, false] {
            #expect(told("Let me look.You said", [first], wasAborted: wasAborted) == "Let me look.\n\nYou said")
            #expect(
                told("Let me look.And there.You said: a", [first, second, third], wasAborted: wasAborted)
                    == "Let me look.\n\nAnd there.\n\nYou said: a"
            )
            #expect(told("Let me look.", [first], wasAborted: wasAborted) == "Let me look.")
            let words = "Let me look.And.You said"
            // 2026.4.26 leaves repeated words out.
            #expect(told(words, [first, second], wasAborted: wasAborted) == words)
        }
    }

    /// 2026.4.26, seen live: the link was opened in the middle of another client's run.
    @Test func `its rows may lack the first messages, which a final text has`() throws {
        let second = try row("Then I read it all.", "toolUse")
        let told = told("First I look.Then I read it all.Last words.", [second], wasAborted: false)
        #expect(told == "First I look.\n\nThen I read it all.\n\nLast words.")
        // The last message alone, which repeats an earlier one.
        let quote = self.told("As I said: Then I read it all. Done.", [second], wasAborted: false)
        #expect(quote == "Then I read it all.\n\nAs I said: Then I read it all. Done.")
    }

    /// 2026.6.11, seen live: the second row came as an event, and the page with both came later.
    @Test func `its rows are known in the order of a page, whichever came first`() throws {
        let (first, second) = (try row("First I look at it.", "toolUse"), try row("Then I read it all.", "toolUse"))
        var text = RunText()
        for rows in [[second], [first, second]] { text.take(rows) }
        text.ended(with: "First I look at it.Then I read it all.Last words.")
        text.settle(wasAborted: false)
        #expect(text.published == "First I look at it.\n\nThen I read it all.\n\nLast words.")
    }

    /// 2026.3.1, seen live after a kill of Ladle, and after a break of the link.
    @Test func `its rows come before a final text that is the last message alone`() throws {
        let first = try row("Let me look. ", "toolUse")
        let last = try row("You said: oak", "stop")
        for rows in [[first], [first, last]] {
            #expect(told("You said: oak", rows, wasAborted: false) == "Let me look.\n\nYou said: oak")
        }
    }

    @Test func `the note of an abort repeats all rows, or the last one`() throws {
        let first = try row("Let me look.", "toolUse")
        let open = try row("You said: o", "aborted")
        let all = try row("Let me look.You said: oak", "stop", isNote: true)
        let last = try row("You said: oak", "stop", isNote: true)
        let same = try row("Let me look.", "stop", isNote: true)
        for rows in [[first, open, all], [first, all], [first, open, last]] {
            #expect(told("", rows) == "Let me look.\n\nYou said: oak")
        }
        #expect(told("Let me look.You said: oak", [first, all]) == "Let me look.\n\nYou said: oak")
        #expect(told("", [first, same]) == "Let me look.")
    }

    /// 2026.3.1, seen live, of another client's run: the link was away during its first message, or Ladle was killed behind it.
    @Test(arguments: [true, false])
    func `a message that came while nobody listened is part of the text`(isKilled: Bool) {
        var tracker = RunTracker()
        tracker.profile = march
        if !isKilled { _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now) }
        tracker.linkOpened(process: isKilled ? .either : .same, now: after(3_000))
        let rows = [user("story", at: 0), answer("Let me look.", at: 1_000, "toolUse")]
        if isKilled {
            let text = AgentFrame.text("k", 9, "You said")
            _ = tracker.receive(event: "agent", payload: text, now: after(3_050))
        }
        _ = tracker.receive(history: page(rows, status: "running", active: true), session: main, now: after(3_100))
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 11, "You said: oak"), now: after(3_200))
        let final = ChatFrame.final("k", 12, "You said: oak")
        var changes = tracker.receive(event: "chat", payload: final, now: after(3_300))
        let whole = page(rows + [answer("You said: oak", at: 3_250)])
        changes += tracker.receive(history: whole, session: main, now: after(5_000))
        #expect(ends(changes).map(\.text) == ["Let me look.\n\nYou said: oak"])
    }

    enum Missed: CaseIterable {
        case rowsFirst, textFirst, afterKill, inPart
    }

    /// Seen live on all releases: the text under way lacked the message before, up to the run's end.
    @Test(arguments: Missed.allCases)
    func `the text under way has the messages that came while nobody listened`(missed: Missed) {
        var tracker = RunTracker()
        tracker.profile = march
        if missed == .afterKill {
            tracker.followRun("k", session: main, startedAt: now, text: "Let me", now: after(2_000))
        } else {
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("k", now.milliseconds), now: now)
            if missed == .inPart {
                _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 2, "Let me"), now: after(100))
            }
        }
        tracker.linkOpened(process: .same, now: after(3_000))
        let rows = [user("story", at: 0), answer("Let me look.", at: 1_000, "toolUse")]
        func read() {
            _ = tracker.receive(history: page(rows, status: "running", active: true), session: main, now: after(3_100))
        }
        if missed == .rowsFirst { read() }
        if missed == .rowsFirst { #expect(tracker.run("k")?.text == "Let me look.") }
        _ = tracker.receive(event: "agent", payload: AgentFrame.text("k", 9, "You"), now: after(3_050))
        if missed != .rowsFirst { read() }
        let changes = tracker.receive(event: "agent", payload: AgentFrame.text("k", 11, "You said"), now: after(3_200))
        #expect(tracker.run("k")?.text == "Let me look.\n\nYou said")
        let pieces = changes.compactMap { if case .textAppended(_, _, let piece) = $0 { piece } else { nil } }
        #expect(pieces == [" said"])
    }

    @Test func `a page that is older than the text under way takes nothing from it`() throws {
        var text = RunText()
        let messages = ["Let me look.", "And there.", "You said"]
        for (place, message) in messages.enumerated() {
            let frame = AgentEvent(AgentFrame.text("k", 2 * place + 2, message))
            guard case .assistant(let piece)? = frame.content else { throw Unreadable() }
            text.take(piece, sequence: frame.sequence)
            if place < 2 { text.endMessage(sequence: frame.sequence + 1) }
        }
        let rows = [try row("Let me look. ", "toolUse"), try row("And  there.", "toolUse")]
        for rows in [rows.prefix(1), rows[...]] {
            text.take(Array(rows))
            var changes: [RunChange] = []
            text.publish(of: "k", isFinal: false, wasAborted: false, to: &changes)
            #expect(text.published == "Let me look.\n\nAnd there.\n\nYou said")
        }
    }

    private struct Unreadable: Error {}
}
