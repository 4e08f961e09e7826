import Basics
import Gateway
import JSONBytes
import Ledger
import Outbox
import Testing
import Upstream

@testable import Service

/// Pages of history as gateways gave them, read for a look after an entry.
struct TranscriptSearchTests {
    private static let id = "01a1fd56-3f67-7067-8d18-ddb50ee2e1f8"

    private func output(_ rows: String, _ more: String = "") throws -> ChatHistory.Output {
        try ChatHistory.output(from: JSONDocument(parsing: Array("{\"messages\":[\(rows)]\(more)}".utf8)).root)
    }

    private func report(_ rows: String, text: String) throws -> SearchReport {
        RowSearch(key: Self.id, words: Words(text), since: Timestamp(milliseconds: 1_795_183_180_000))
            .report(on: TranscriptSearch.rows(try output(rows).rows), isWhole: true, hasActiveRun: false)
    }

    @Test(arguments: [
        #"System: [2026-11-20 13:59:36 UTC] Reasoning ON — include <think>.\n\n[Fri 2026-11-20 13:59 UTC] what now"#,
        #"System: [2026-11-20 14:08:55 UTC] Exec finished (code 0)\nsunny 21C\n\n[Fri 2026-11-20 14:09 UTC] what now"#,
        #"[Fri 2026-11-20 14:09 UTC] what now"#,
    ])
    func `a text is recognised in what the gateway put around it`(shown: String) throws {
        let row = #"{"role":"user","content":[{"type":"text","text":"\#(shown)"}],"timestamp":1795183181275}"#
        let abort =
            #"{"role":"assistant","content":[{"type":"text","text":"number"}],"timestamp":1795183114711,"model":"gateway-injected","idempotencyKey":"400989a1-767a-4bc9-bbc6-fe3b43455a52:assistant","openclawAbort":{"aborted":true,"origin":"rpc","runId":"400989a1-767a-4bc9-bbc6-fe3b43455a52"}}"#
        #expect(try report(row, text: "what now").proof == .textMatch)
        #expect(try report("\(abort),\(row)", text: "what now").proof == .textMatch)
    }

    @Test(arguments: [
        #""idempotencyKey":"ID:user""#, #""idempotencyKey":"ID:assistant""#,
        #""__openclaw":{"idempotencyKey":"ID:user"}"#,
        #""openclawAbort":{"aborted":true,"runId":"ID"}"#,
    ])
    func `a key is read wherever gateways write it`(key: String) throws {
        let key = key.split(separator: "ID", omittingEmptySubsequences: false).joined(separator: Self.id)
        #expect(try report(#"{"role":"assistant","content":"x",\#(key)}"#, text: "what now").proof == .history)
    }

    @Test(arguments: ["1795183181275", "\"2026-11-20T13:59:41Z\"", "1795183181"])
    func `a time is read in any form`(time: String) throws {
        #expect(try report(#"{"role":"user","content":"hm","timestamp":\#(time)}"#, text: "hm").proof == .textMatch)
    }

    @Test func `fewer rows than were asked for are not the whole session`() throws {
        let two = #"{"role":"user","content":"a"},{"role":"user","content":"b"}"#
        #expect(!TranscriptSearch.isWhole(try output(two), rowsBefore: nil))
        #expect(!TranscriptSearch.isWhole(try output(two), rowsBefore: 1))
        #expect(TranscriptSearch.isWhole(try output(two), rowsBefore: 2))
        #expect(TranscriptSearch.isWhole(try output(two, #","hasMore":false"#), rowsBefore: nil))
        #expect(!TranscriptSearch.isWhole(try output(two, #","hasMore":true"#), rowsBefore: 2))
        let long = #"{"role":"user","content":"\#(String(repeating: "a", count: 5 << 20))"}"#
        #expect(!TranscriptSearch.isWhole(try output(long), rowsBefore: 1))
    }
}
