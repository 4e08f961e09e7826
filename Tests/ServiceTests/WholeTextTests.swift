import EventLoops
import Gateway
import JSONBytes
import Runs
import Testing

@testable import Service

/// Texts that a page of the gateway cuts or leaves out, where it gives single messages. `history-receipts.jsonl`.
struct WholeTextTests {
    private static let main = ServiceBench.main
    private static let methods = ["sessions.subscribe", "chat.message.get"]

    private func row(_ id: String, _ text: String) -> String {
        #"{"role":"assistant","content":[{"type":"text","text":\#(quoted(text))}],"timestamp":1795000001000,"#
            + ##""stopReason":"stop","__openclaw":{"id":"\##(id)","seq":7}}"##
    }

    private func omitted(_ id: String) -> String {
        #"{"role":"assistant","content":[{"type":"text","text":"[chat.history omitted: message too large]"}],"#
            + ##""timestamp":1795000001000,"__openclaw":{"id":"\##(id)","seq":8,"truncated":true,"reason":"oversized"}}"##
    }

    private func read(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> [JSONValue] {
        var found: [JSONValue] = []
        let query = MessagePages.Query(session: Self.main, limit: 50, before: nil, after: nil)
        loop.start {
            let page = try? await bench.services.messagePages.read(query, refresh: true, on: loop)
            found = page?.messages.map { json($0) } ?? []
        }
        try await bench.settle(on: loop)
        return found
    }

    @Test func `a row that the page leaves out or cuts is read alone, once`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            let long = String(repeating: "word ", count: 9_000)
            let cut = String(long.prefix(12_000)) + "\n...(truncated)..."
            bench.gateway.rows[Self.main] = [row("e-6", "short"), row("e-7", cut), omitted("e-8")]
            bench.gateway.responder = { request in
                guard request.method == "chat.message.get" else { return nil }
                return .now(ok(#"{"ok":true,"message":\#(row(request["messageId"] ?? "", long))}"#))
            }
            for _ in 0..<3 {
                let messages = try await read(bench, on: loop)
                #expect(messages.map { $0["text"]?.string?.utf8.count } == [5, 44_999, 44_999])
                #expect(messages.allSatisfy { $0["truncated"] == nil })
            }
            let asked = bench.gateway.requests("chat.message.get")
            #expect(asked.map { $0["messageId"] } == ["e-7", "e-8"])
            #expect(asked.first?["sessionKey"] == Self.main && asked.first?.params["maxChars"]?.int == 500_000)
        }
    }

    @Test(arguments: [
        #"{"ok":false,"unavailableReason":"oversized"}"#, #"{"ok":true}"#, #"{"ok":true,"message":7}"#,
        #"{"ok":true,"message":{"role":"assistant","content":[{"type":"text","text":"other"}],"__openclaw":{"id":"e-9"}}}"#,
    ])
    func `one that is not given stays cut, and is not asked for again`(_ answer: String) async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.rows[Self.main] = [omitted("e-8")]
            bench.gateway.next("chat.message.get", ok(answer))
            for _ in 0..<3 {
                let messages = try await read(bench, on: loop)
                #expect(messages.count == 1 && messages.first?["truncated"]?.bool == true, "\(messages)")
            }
            #expect(bench.gateway.requests("chat.message.get").count == 1)
        }
    }

    @Test func `a refusal for the moment costs the page nothing, and the next one asks again`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.rows[Self.main] = [omitted("e-8")]
            let later = refused("UNAVAILABLE", "session changed", more: #","retryable":true"#)
            bench.gateway.next("chat.message.get", later, ok(#"{"ok":true,"message":\#(row("e-8", "whole"))}"#))
            #expect(try await read(bench, on: loop).first?["truncated"]?.bool == true)
            #expect(try await read(bench, on: loop).first?["text"]?.string == "whole")
        }
    }

    @Test func `few are read at once, the newest, and gateways without the call are not asked`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: Self.methods, on: loop)
            bench.gateway.rows[Self.main] = (0..<20).map { omitted("e-\($0)") }
            _ = try await read(bench, on: loop)
            #expect(bench.gateway.requests("chat.message.get").map { $0["messageId"] } == (12..<20).map { "e-\($0)" })
        }
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            bench.gateway.rows[Self.main] = [omitted("e-8")]
            #expect(try await read(bench, on: loop).first?["truncated"]?.bool == true)
            #expect(bench.gateway.requests("chat.message.get").isEmpty)
        }
    }
}
