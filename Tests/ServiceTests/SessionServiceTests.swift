import Basics
import EventLoops
import Gateway
import JSONBytes
import Runs
import Testing

@testable import Service

struct SessionServiceTests {
    private func changed(_ members: String) -> String { #"{"sessionKey":"agent:main:den"\#(members)}"# }

    @Test func `a session is published when something lasting changed, not with each run`() async throws {
        try await withLinkedServices { bench, loop in
            for (members, count) in [
                (#","model":"large","status":"running""#, 1), (#","model":"large","status":"idle""#, 1),
                (#","model":"small","status":"idle""#, 2), (#","model":"small","label":"Den""#, 3),
            ] {
                try await bench.event("sessions.changed", changed(members), on: loop)
                try await bench.advance(1000, on: loop)
                #expect(bench.data("session").count == count)
            }
            #expect(bench.data("session").last?["sessionInfo"]?["label"]?.string == "Den")
        }
    }

    @Test func `a session that a list showed is known`() async throws {
        try await withLinkedServices { bench, loop in
            let row = json(#"{"model":"large"}"#)
            let model = bench.services.sessionModel
            model.note(model.info(SessionRow(row), SessionKey(canonical: "agent:main:den")))
            try await bench.event("sessions.changed", changed(#","model":"large""#), on: loop)
            #expect(bench.data("session").isEmpty)
        }
    }

    @Test(arguments: [("create", "created"), ("reset", "reset"), ("delete", "deleted"), ("compact", "compacted")])
    func `a turn is always published, once a second`(reason: String, told: String) async throws {
        try await withLinkedServices { bench, loop in
            for _ in 0..<2 {
                for _ in 0..<2 {
                    try await bench.event("sessions.changed", changed(#","reason":"\#(reason)""#), on: loop)
                }
                try await bench.advance(1000, on: loop)
            }
            #expect(bench.data("session").map { $0["reason"]?.string } == [told, told])
        }
    }

    private func title(_ row: String, named name: String = "Bridge") -> String? {
        SessionInfo(SessionRow(json(row)), key: SessionKey(canonical: "agent:main:den"), clientName: name).title
    }

    @Test func `a title is the label, a name that is no program's, or the first message without its stamp`() {
        // Rows of 2026.3.1, 2026.4.26 and 2026.6.11.
        let origin = #""origin":{"label":"Bridge","provider":"webchat","surface":"webchat","chatType":"direct"}"#
        for (row, expected) in [
            (#""label":"Given","displayName":"Given","derivedTitle":"[Sun 2026-11-22 11:19 UTC] hello""#, "Given"),
            (
                #""displayName":"Bridge","derivedTitle":"[Sun 2026-11-22 11:19 UTC] Plan a trip to Lisbon in May…""#,
                "Plan a trip to Lisbon in May…"
            ),
            (
                #""displayName":"Bridge","derivedTitle":"Plan a trip to Lisbon in May with two children, by train…""#,
                "Plan a trip to Lisbon in May with two children, by train…"
            ),
            (
                #""displayName":"Bridge","sessionId":"8545646e-3a76-4996-9e2d-4379784316bd","derivedTitle":"8545646e (2026-11-22)""#,
                nil
            ),
            (
                #""displayName":"Bridge","derivedTitle":"A new session was started via /new or /reset. Execute your…""#,
                nil
            ),
            (#""displayName":"webchat:g-agent-main-den","derivedTitle":"hello""#, "hello"),
            (#""displayName":"Family","derivedTitle":"hello""#, "Family"),
        ] as [(String, String?)] {
            #expect(title("{\(row),\(origin)}") == expected, "\(row)")
            #expect(title("{\(row)}") == expected, "\(row)")
        }
        let other = origin.replacingText("Bridge", with: "Other client")
        #expect(title(#"{"displayName":"Other client","derivedTitle":"hello",\#(other)}"#, named: "Ladle") == "hello")
    }

    @Test func `a session without a title has its key, and an event keeps the title of the list`() async throws {
        try await withLinkedServices { bench, loop in
            bench.gateway.next(
                "sessions.list",
                ok(
                    #"{"sessions":[{"key":"agent:main:den","displayName":"Ladle","derivedTitle":"[Sun 2026-11-22 11:19 UTC] hello first"},{"key":"agent:main:new","displayName":"Ladle"}]}"#
                )
            )
            var titles: [String?] = []
            bench.services.sessionModel.read(on: loop) { result in
                titles = (try? result.get())?.rows.map(\.title) ?? []
            }
            try await bench.settle(on: loop)
            #expect(titles == ["hello first", "new"])
            try await bench.event("sessions.changed", changed(#","model":"large","displayName":"Ladle""#), on: loop)
            #expect(bench.data("session").last?["sessionInfo"]?["title"]?.string == "hello first")
        }
    }

    @Test func `aliases of a key are one session`() async throws {
        try await withLinkedServices { bench, loop in
            try await bench.event("sessions.changed", #"{"key":"main","model":"large"}"#, on: loop)
            try await bench.event("sessions.changed", #"{"sessionKey":"agent:main:main","model":"large"}"#, on: loop)
            #expect(bench.data("session").map { $0["session"]?.string } == ["agent:main:main"])
        }
    }

    @Test func `a conversation about the agent's files lends no session its title`() {
        let row = json(#"{"displayName":"Return both files:\n---IDENTITY---\n---USER---\n---END---"}"#)
        var writer = JSONWriter()
        SessionInfo(SessionRow(row), key: SessionKey(canonical: "agent:main:main"), clientName: "Ladle")
            .write(to: &writer, isActive: true)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(!text.contains("title") && text.contains(#""active":true"#))
    }
}
