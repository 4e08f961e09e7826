import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Gateway

struct HistoryRowTests {
    private func row(_ text: String) throws -> HistoryRow {
        try #require(HistoryRow(JSONDocument(parsing: text).root))
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
        ("[not a stamp] hello", "[not a stamp] hello"),
        ("plain\n\ntext", "plain\n\ntext"),
    ]

    @Test(arguments: envelopes)
    func `the envelope around a user's words is taken off`(text: String, expected: String) {
        #expect(InboundEnvelope.stripped(text) == expected)
    }
}
