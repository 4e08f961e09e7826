import ReadableText
import Testing

@testable import Commands

/// Ids as people type and read them: by their ends.
struct ShortIDTests {
    private static let ids = [
        "01a1fd87-2cc3-7ee0-92bc-9d05f31e7ccb", "01a1fd87-2cc4-7ee0-92bc-9d05f31e1aaa",
        "01a1fd87-2cc5-7ee0-92bc-9d05ffff1aaa",
    ]
    private static let list = rows("entries", ids)

    private static func rows(_ name: String, _ ids: [String]) -> RecordedIO.Reply {
        .json(
            200,
            "{\"\(name)\":[" + ids.map { "{\"id\":\"\($0)\",\"state\":\"unconfirmed\"}" }.joined(separator: ",") + "]}"
        )
    }

    @Test(arguments: ["7ccb", "31e7ccb", "…9d05f31e7ccb", "92bc-9D05F31E7CCB", "01a1fd87-2cc3", "01a1fd87-2cc3…"])
    func `the end of an id stands for it, and so does its beginning`(part: String) {
        let io = RecordedIO()
        io.replies = [Self.list, .json(200, "{}")]
        #expect(io.run("outbox", "show", part) == .ok)
        #expect(io.requests.last?.hasPrefix("GET /v1/outbox/\(Self.ids[0]) ") == true)
    }

    @Test func `every command that takes an id takes its end`() {
        let commands: [(list: String, words: [String], path: String)] = [
            ("entries", ["outbox", "show"], "GET /v1/outbox/ID "),
            ("entries", ["outbox", "retry"], "POST /v1/outbox/ID/retry "),
            ("entries", ["outbox", "cancel"], "DELETE /v1/outbox/ID "), ("runs", ["runs"], "GET /v1/runs/ID "),
            ("runs", ["abort"], "POST /v1/runs/ID/abort "),
            ("runs", ["watch", "--timeout", "0", "--run"], "GET /v1/runs?"),
            ("approvals", ["approvals", "show"], "GET /v1/approvals/ID "),
            ("questions", ["questions", "show"], "GET /v1/questions/ID "),
            ("tokens", ["token", "rotate"], "POST /v1/tokens/ID/rotate "),
            ("automations", ["automations", "show"], "GET /v1/automations/ID "),
            ("nodes", ["nodes", "show"], "GET /v1/nodes/ID "),
        ]
        for (list, words, path) in commands {
            let io = RecordedIO()
            io.replies = [Self.rows(list, Self.ids), .json(200, "{}")]
            _ = io.run(words + ["7ccb"])
            let wanted = path.replacing("ID", with: Self.ids[0])
            #expect(io.requests.last?.hasPrefix(wanted) == true, "\(words): \(io.requests)")
        }
    }

    @Test func `the end of two ids is refused, and both are named`() {
        let io = RecordedIO()
        io.replies = [Self.list]
        #expect(io.run("outbox", "cancel", "1aaa") == .usage)
        #expect(io.errors.contains("1aaa is part of 2 ids: \(Self.ids[1]), \(Self.ids[2])"))
        #expect(io.requests.count == 1)
    }

    @Test func `three characters stand for nothing`() {
        let io = RecordedIO()
        io.replies = [.json(404, #"{"title":"t"}"#)]
        #expect(io.run("outbox", "show", "ccb") == .usage)
        #expect(io.requests[0].hasPrefix("GET /v1/outbox/ccb "))
    }

    @Test func `the name of a token comes before the end of another one's id`() {
        let io = RecordedIO()
        let tokens = #"{"tokens":[{"id":"\#(Self.ids[1])","name":"kitchen"},{"id":"\#(Self.ids[0])","name":"1aaa"}]}"#
        io.replies = [.json(200, tokens), .json(200, "{}")]
        #expect(io.run("token", "rotate", "1aaa") == .ok)
        #expect(io.requests[1].hasPrefix("POST /v1/tokens/1aaa/rotate "))
    }

    @Test func `a narrow terminal shows the ends of ids, and whole states`() {
        for (columns, shown) in [
            (60, "f31e1aaa  unconfirmed"), (99, "f31e1aaa  unconfirmed"), (100, "\(Self.ids[1])  unconfirmed"),
        ] {
            let io = RecordedIO()
            (io.isOutputTerminal, io.columns, io.environment["NO_COLOR"]) = (true, columns, "1")
            io.replies = [Self.rows("runs", Self.ids)]
            #expect(io.run("runs") == .ok)
            #expect(io.output.contains("\n\(shown)"), "\(columns): \(io.output)")
        }
        let io = RecordedIO()
        io.replies = [Self.rows("runs", Self.ids)]
        #expect(io.run("runs") == .ok)
        #expect(io.output.contains(Self.ids[1]))
    }

    @Test func `eight characters are enough where they differ, and a word is no id`() {
        var table = TextTable("ID", "NAME")
        table.add(Self.ids[0], "a")
        table.add(Self.ids[1], "b")
        table.add("", "c")
        #expect(table.text(width: 60, style: .plain) == "ID        NAME\nf31e7ccb  a\nf31e1aaa  b\n          c\n")
        table.add("kitchen", "d")
        #expect(table.text(width: 60, style: .plain).contains(Self.ids[0]))
    }

    @Test func `a state stays whole beside long names`() {
        var table = TextTable("ID", "STATE", "SESSION", "TRIES", "NEXT", "TEXT")
        let long = String(repeating: "long ", count: 30)
        table.add(Self.ids[0], "unconfirmed", "agent:main:" + long, "7", "gateway_offline", long)
        for width in [40, 60, 80] {
            let text = table.text(width: width, style: .plain)
            #expect(text.contains("f31e7ccb  unconfirmed  "), "\(width): \(text)")
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(width): \(text)")
        }
        var sessions = TextTable("SESSION", "UPDATED", "MODEL", "TITLE")
        sessions.add("agent:main:" + long, "active", "demo-1", long)
        for width in [40, 60, 100] {
            #expect(sessions.text(width: width, style: .plain).contains("  active   "), "\(width)")
        }
        var sinks = TextTable("NAME", "KIND", "STATE", "WHERE")
        sinks.add(long, "webhook", "disabled", long)
        #expect(sinks.text(width: 60, style: .plain).contains("  disabled  "))
    }
}
