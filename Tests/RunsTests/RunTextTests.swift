import Gateway
import JSONBytes
import Testing

@testable import Runs

/// The texts of a run whose events were missed in part: a final text of 2026.6.11 has all messages without a break.
@Suite struct RunTextTests {
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
        text.take(rows)
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
            #expect(told("Something else", [first, second], wasAborted: wasAborted) == "Something else")
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
}
