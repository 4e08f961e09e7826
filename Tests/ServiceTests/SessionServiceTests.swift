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
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            for (members, count) in [
                (#","model":"large","status":"running""#, 1), (#","model":"large","status":"idle""#, 1),
                (#","model":"small","status":"idle""#, 2), (#","model":"small","label":"Den""#, 3),
            ] {
                try await bench.event("sessions.changed", changed(members), on: loop)
                #expect(bench.data("session").count == count)
            }
            #expect(bench.data("session").last?["sessionInfo"]?["label"]?.string == "Den")
        }
    }

    @Test func `a session that a list showed is known`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            let row = json(#"{"model":"large"}"#)
            bench.services.sessions.note([SessionInfo(SessionRow(row), key: SessionKey(canonical: "agent:main:den"))])
            try await bench.event("sessions.changed", changed(#","model":"large""#), on: loop)
            #expect(bench.data("session").isEmpty)
        }
    }

    @Test(arguments: ["create", "reset", "delete"])
    func `a reason is always published`(reason: String) async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            for _ in 0..<2 { try await bench.event("sessions.changed", changed(#","reason":"\#(reason)""#), on: loop) }
            #expect(bench.data("session").map { $0["reason"]?.string } == [reason, reason])
        }
    }

    @Test func `aliases of a key are one session`() async throws {
        try await withServices { bench, loop in
            try await bench.open(on: loop)
            try await bench.event("sessions.changed", #"{"key":"main","model":"large"}"#, on: loop)
            try await bench.event("sessions.changed", #"{"sessionKey":"agent:main:main","model":"large"}"#, on: loop)
            #expect(bench.data("session").map { $0["session"]?.string } == ["agent:main:main"])
        }
    }

    @Test func `a conversation about the agent's files lends no session its title`() {
        let row = json(#"{"displayName":"Return both files:\n---IDENTITY---\n---USER---\n---END---","label":"x"}"#)
        var writer = JSONWriter()
        SessionInfo(SessionRow(row), key: SessionKey(canonical: "agent:main:main")).write(to: &writer, isActive: true)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(!text.contains("title") && text.contains(#""active":true"#))
    }
}
