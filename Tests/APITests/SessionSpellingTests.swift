import EventLoops
import JSONBytes
import Service
import TestSupport
import Testing

/// Two keys that a person reads as the same word, with an accented letter in one character or in two: for the gateway
/// they are two sessions.
struct SessionSpellingTests {
    private static let one = "agent:main:caf\u{E9}"
    private static let two = "agent:main:cafe\u{301}"
    private static let queryOfOne = "agent:main:caf%C3%A9"
    private static let queryOfTwo = "agent:main:cafe%CC%81"

    private func limited(to keys: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> [String] {
        try await api.token("send", "read", more: #","sessions":[\#(keys)]"#, on: loop).bearer
    }

    private func bytes(_ list: JSONValue?, _ member: String) -> [[UInt8]] {
        list?.elements.map { Array($0[member]?.utf8 ?? []) } ?? []
    }

    @Test func `a token for one spelling may not use the other`() async throws {
        try await withAPI { api, loop in
            let bearer = try await limited(to: "\"\(Self.one)\"", api, on: loop)
            #expect(try await api.say("x", "?session=\(Self.queryOfOne)", bearer, on: loop).status == 202)
            #expect(try await api.say("x", "?session=\(Self.queryOfTwo)", bearer, on: loop).status == 403)
            let json = #"{"text":"x","session":"cafe\u0301"}"#
            #expect(try await api.post("/v1/messages", Field.json + bearer, json, on: loop).status == 403)
            for path in ["/v1/messages?session=", "/v1/outbox?session="] {
                #expect(try await api.get("\(path)\(Self.queryOfOne)", bearer, on: loop).status == 200)
                #expect(try await api.get("\(path)\(Self.queryOfTwo)", bearer, on: loop).status == 403, "\(path)")
            }
        }
    }

    @Test func `a token may name both spellings`() async throws {
        try await withAPI { api, loop in
            let bearer = try await limited(to: "\"\(Self.one)\",\"\(Self.two)\"", api, on: loop)
            for query in [Self.queryOfOne, Self.queryOfTwo] {
                #expect(try await api.say("x", "?session=\(query)", bearer, on: loop).status == 202)
            }
            let entries = try await api.get("/v1/outbox", bearer, on: loop).json["entries"]
            #expect(bytes(entries, "session") == [Array(Self.two.utf8), Array(Self.one.utf8)])
        }
    }

    @Test func `what happens in one is not shown to who asks for the other`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            let bearer = try await limited(to: "\"\(Self.one)\"", api, on: loop)
            let own = try await api.open("GET", "/v1/events?types=run.*,outbox", bearer, on: loop)
            let asked = try await api.open("GET", "/v1/events?types=run.*&session=\(Self.queryOfOne)", on: loop)
            let other = try await api.open("GET", "/v1/events?types=run.*&session=\(Self.queryOfTwo)", on: loop)
            try await api.bench.event("agent", Frame.start("run-of-two", session: Self.two), on: loop)
            try await api.bench.event("agent", Frame.start("run-of-one", session: Self.one), on: loop)
            for stream in [own, asked] {
                #expect(stream.text.contains("run-of-one") && !stream.text.contains("run-of-two"), "\(stream.text)")
            }
            #expect(other.text.contains("run-of-two") && !other.text.contains("run-of-one"), "\(other.text)")
            for (path, fields) in [("/v1/runs", bearer), ("/v1/runs?session=\(Self.queryOfOne)", [])] {
                let runs = try await api.get(path, fields, on: loop).json["runs"]
                #expect(runs?.elements.map { $0["id"]?.string } == ["run-of-one"], "\(path)")
            }
            #expect(try await api.get("/v1/runs/run-of-two", bearer, on: loop).status == 404)
            #expect(try await api.get("/v1/glance", bearer, on: loop).json["active"]?.int == 1)
        }
    }

    @Test func `each has its place in the list, its conversation and its turn to send`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(on: loop)
            let rows = [Self.one, Self.two].map { #"{"key":"\#($0)","sessionId":"\#($0.utf8.count)","updatedAt":20}"# }
            api.gateway.next("sessions.list", ok(#"{"sessions":[\#(rows.joined(separator: ","))]}"#))
            let list = try await api.get("/v1/sessions", on: loop).json["sessions"]
            #expect(Set(bytes(list, "key")) == [Array(Self.one.utf8), Array(Self.two.utf8)])
            api.gateway.silent = ["chat.history", "chat.send"]
            for query in [Self.queryOfOne, Self.queryOfTwo] {
                _ = try await api.open("GET", "/v1/messages?session=\(query)", on: loop)
                _ = try await api.open("POST", "/v1/messages?session=\(query)", Field.text, body: query, on: loop)
            }
            for method in ["chat.history", "chat.send"] {
                let asked = api.gateway.requests(method).map { Array(($0["sessionKey"] ?? "").utf8) }
                #expect(Set(asked) == [Array(Self.one.utf8), Array(Self.two.utf8)], "\(method)")
            }
        }
    }
}
