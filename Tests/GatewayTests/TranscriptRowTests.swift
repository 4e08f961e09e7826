import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Gateway

struct TranscriptRowTests {
    private func row(_ text: String) throws -> TranscriptRow {
        try #require(TranscriptRow(JSONDocument(parsing: text).root))
    }

    @Test func `a row names its run by any of the keys that gateways write`() throws {
        for members in [
            #""idempotencyKey":"k:user""#, #""__openclaw":{"idempotencyKey":"k"}"#, #""runId":"k""#,
            #""openclawAbort":{"aborted":true,"runId":"k"},"idempotencyKey":"other""#,
        ] {
            #expect(try row("{\"role\":\"user\",\(members)}").runKey == "k")
        }
        #expect(try row(#"{"role":"user","runId":"r","idempotencyKey":"k:user"}"#).idempotencyKey == "k:user")
        #expect(try row(#"{"role":"user","content":"hi"}"#).runKey == nil)
    }

    @Test func `ids are cut and never empty`() throws {
        let long = String(repeating: "x", count: 300)
        #expect(try row(#"{"role":"user","id":"\#(long)"}"#).id?.utf8.count == GatewayLimits.identifierBytes)
        #expect(try row(#"{"role":"user","id":""}"#).id == nil)
    }

    @Test func `blocks are read under the names of every provider`() throws {
        let blocks = try row(
            #"""
            {"role":"assistant","content":["bare",{"type":"output_text","text":"b"},{"type":"reasoning","text":"t"},
            {"type":"tool_use","id":"c","name":"read","input":{}},{"type":"tool_result","tool_use_id":"c","is_error":true},
            {"type":"image","source":{"media_type":"image/png"},"bytes":96},{"type":"unknown"}]}
            """#
        ).blocks
        #expect(blocks.count == 6)
        #expect(blocks.compactMap(\.text) == ["bare", "b"])
        guard case .toolResult(let id, _, let isError, _) = blocks[4], case .attachment(let file) = blocks[5] else {
            Issue.record("a result and a file were expected")
            return
        }
        #expect(id == "c" && isError)
        #expect(file.mimeType == "image/png" && file.bytes == 96)
    }

    @Test(arguments: [
        ("1795000000000", 1_795_000_000_000), ("1795000000", 1_795_000_000_000), ("\"1795000000\"", 1_795_000_000_000),
        ("\"2026-11-18T11:06:40Z\"", 1_795_000_000_000),
    ])
    func `a time is read however it is written`(text: String, milliseconds: Int64) throws {
        #expect(GatewayTime.read(try JSONDocument(parsing: text).root)?.milliseconds == milliseconds)
    }

    @Test(arguments: ["0", "-5", "99999999999999", "\"soon\"", "null", "{}"])
    func `a value that is no time of this millennium is none`(text: String) throws {
        #expect(GatewayTime.read(try JSONDocument(parsing: text).root) == nil)
    }

    private static let envelopes: [(String, String)] = [
        ("System: [2026-11-20 13:59:36 UTC] Reasoning ON.\n\n[Fri 2026-11-20 13:59 UTC] please think", "please think"),
        (
            "System: [2026-11-20 14:08:55 UTC] Exec finished (code 0)\nsunny 21C\n\nwind 3\n\n[Fri 2026-11-20 14:09 UTC] and now?",
            "and now?"
        ),
        ("System: [one\nSystem: [two\n\nhello", "hello"), ("System: [only]", "System: [only]"),
        ("[Fri 2026-11-20 13:59 UTC] hello", "hello"),
        ("Conversation info (untrusted metadata):\n```json\n{\"a\":1}\n```\n\nhello", "hello"),
        (
            "[Queued user message that arrived while the previous turn was still active]\ngo\n\n"
                + "[System] Your previous turn was interrupted by a gateway restart while waiting. Continue.",
            "go"
        ),
        (
            "[Queued user message that arrived while the previous turn was still active]\n"
                + "[Queued user message that arrived while the previous turn was still active]\ngo on\n\n"
                + "[System] Your previous turn was interrupted by a gateway restart. Continue.\n\n"
                + "[System] Your previous turn was interrupted by a gateway restart. Continue.",
            "go on"
        ),
        ("[not a stamp] hello", "[not a stamp] hello"),
        (
            "[Queued user message that arrived while the previous turn was still active]\nslow story\n\n[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. Continue from the existing transcript and finish the interrupted response.",
            "slow story"
        ),
        ("plain\n\ntext", "plain\n\ntext"),
    ]

    @Test(arguments: envelopes)
    func `the envelope around a user's words is taken off`(text: String, expected: String) {
        #expect(InboundEnvelope.stripped(text) == expected)
    }

    @Test func `messages that a busy gateway joined are told apart`() {
        let title = "[Queued messages while agent was busy]"
        let joined = InboundEnvelope.joined(
            title
                + "\n\n---\nQueued #1\nbuy milk\n\n---\nQueued #9\n\n---\nQueued #2 (from Ada)\nsecond\n\n---\nQueued #3\n"
        )
        #expect(joined == ["buy milk\n\n---\nQueued #9", "second", ""])
        for text in ["buy milk", title, title + "\n\nbuy milk", "x" + title + "\n\n---\nQueued #1\nbuy milk"] {
            #expect(InboundEnvelope.joined(text) == nil)
        }
    }

    /// 2026.4.26 puts a stamp before its notice, and its mark before a notice that is interrupted itself.
    @Test func `a prompt to resume a turn shows whether it names the turn`() throws {
        let mark = #"[Queued user message that arrived while the previous turn was still active]\n"#
        let notice =
            "[Wed 2026-11-25 04:33 UTC] [System] Your previous turn was interrupted by a gateway restart. Go on."
        func prompt(_ text: String) throws -> TranscriptRow { try row("{\"role\":\"user\",\"content\":\"\(text)\"}") }
        for text in [notice, mark + notice, mark + mark + notice + #"\n\n"# + notice] {
            let row = try prompt(text)
            #expect(row.resumesTurn && row.resumesUnnamedTurn)
            #expect(row.words.hasPrefix("[System] Your previous turn"))
        }
        let named = try prompt(mark + #"slow story\n\n"# + notice)
        #expect(named.resumesTurn && !named.resumesUnnamedTurn)
        #expect(named.words == "slow story")
    }

    @Test func `a row tells where the gateway cut its text or left it out`() throws {
        let words = String(repeating: "w00001 ", count: 300)
        func content(_ text: String) -> String { "{\"role\":\"assistant\",\"content\":\"\(text)\"}" }
        #expect(try row(content(words)).cutText == nil)
        #expect(try row(content(words + #"\n...(truncated)..."#)).cutText == words)
        #expect(
            try row(content(#"my log ends so:\n...(truncated)..."#)).cutText == nil,
            "a text this short was not cut"
        )
        let left =
            #"{"role":"assistant","content":[{"type":"text","text":"[chat.history omitted: message too large]"}]}"#
        #expect(try row(left).cutText == "")
        #expect(try row(#"{"role":"assistant","content":"x","__openclaw":{"id":"a","truncated":true}}"#).cutText == "")
    }

    @Test func `a message that a gateway has only taken is told from one that is written`() throws {
        func event(_ text: String) throws -> SessionMessageEvent {
            SessionMessageEvent(try JSONDocument(parsing: text).root)
        }
        // 2026.4.26: 13 ms after the answer to chat.send, and at the start of the run.
        let taken =
            #"{"sessionKey":"agent:main:a","message":{"role":"user","content":"hello three","timestamp":1795346781889,"__openclaw":{"seq":0}},"messageSeq":0}"#
        let written =
            #"{"sessionKey":"agent:main:a","message":{"role":"user","content":[{"type":"text","text":"hello three"}],"timestamp":1795346788533,"__openclaw":{"id":"77657acd","seq":0}},"messageId":"77657acd","messageSeq":0}"#
        #expect(try !event(taken).isStored)
        #expect(try event(written).isStored)
    }
}

struct HousekeepingTests {
    private static let frame = "---IDENTITY---\n# A\n---USER---\n# B\n---END---"

    @Test(arguments: [
        "/verbose on", " /v full ", "Return both files:\n---IDENTITY---\n---USER---\n---END---",
        Housekeeping.fileRequestMark + "\nReplace IDENTITY.md",
        "[Inter-session message] sourceSession=agent:main:a\nhi",
        "Pre-compaction memory flush. Store durable memories only in memory/2026-11-22.md (create memory/ if needed).",
        "Pre-compaction memory flush. Store durable memories now (use memory/YYYY-MM-DD.md; create memory/ if needed).",
        "A new session was started via /new or /reset. Execute your Session Startup sequence now - read the files",
        "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. reply HEARTBEAT_OK.",
        "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. Continue",
        "An async command did not run.\nDo not run the command again.\nThere is no new command output.",
    ])
    func `a prompt that a program wrote is known`(text: String) {
        #expect(Housekeeping.isPrompt(text))
    }

    @Test(arguments: [
        "---IDENTITY---", "what do ---IDENTITY---, ---USER--- and ---END--- mean?",
        "---USER---\n---IDENTITY---\n---END---", frame + "\nand what is this?",
        "[inter-session message] is what I see in the log", "[Inter-session message]\nwhat is that?",
        "pre-compaction memory flush", "Pre-compaction memory flush. Why does it run so often?",
        "My HEARTBEAT.md says: reply HEARTBEAT_OK. Is that right?",
        "a new session was started via /new or /reset, why?",
        "Read HEARTBEAT.md if it exists and tell me what is in it", "/verbose on please", "NO_REPLY is what it said",
    ])
    func `a person who only mentions such words is seen`(text: String) {
        #expect(!Housekeeping.isPrompt(text))
        #expect(!Housekeeping.isAnswer(text))
    }

    @Test func `an answer is the agent's files only where it is nothing else`() {
        #expect(Housekeeping.isFileAnswer(Self.frame))
        #expect(!Housekeeping.isFileAnswer("Here they are:\n" + Self.frame))
        #expect(!Housekeeping.isFileAnswer(Self.frame + "\nDone."))
    }

    @Test func `titles made of such texts are known by their beginning`() {
        #expect(Housekeeping.isExcerpt("A new session was started via /new or /reset. Execute your…"))
        #expect(Housekeeping.isExcerpt("[ladle housekeeping: file sync, not part of…"))
        #expect(!Housekeeping.isExcerpt("A new session…"))
        #expect(!Housekeeping.isExcerpt("Plan a trip to Lisbon in May…"))
    }
}
