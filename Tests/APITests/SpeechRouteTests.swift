import Access
import DemoGateway
import EventLoops
import HTTPModel
import JSONBytes
import Service
import TestSupport
import Testing

@testable import API

/// Messages read aloud, with the demo gateway and by scripted frames (`agents-files.jsonl`).
struct SpeechRouteTests {
    private static let newest = APIBench.Setup(demo: { $0.release = .october })

    private func said(_ words: String, _ session: String, _ api: APIBench, on loop: isolated EventLoop) async throws
        -> (user: String, agent: String)
    {
        _ = try await api.say(words, "?wait=20&session=\(session)", on: loop)
        let list = try await api.get("/v1/messages?session=\(session)", on: loop).json["messages"]
        let ids = list?.elements.compactMap { $0["id"]?.string } ?? []
        #expect(ids.count >= 2)
        return (ids[ids.count - 2], ids[ids.count - 1])
    }

    @Test func `a message of the agent is answered as a recording, one for all who ask`() async throws {
        try await withAPI(Self.newest) { api, loop in
            let (user, agent) = try await said("hello", "main", api, on: loop)
            let path = "/v1/messages/\(agent)/speech"
            let first = try await api.get(path, on: loop)
            #expect(first.status == 200 && first.field("content-type") == "audio/wav", "\(first.fields)")
            #expect(first.body.hasPrefix("RIFF") && first.body.contains("WAVEfmt "))
            #expect(first.field("content-disposition") == #"inline; filename="speech.wav""#)
            #expect(first.field("content-security-policy") == "default-src 'none'; sandbox")
            let tag = try #require(first.field("etag"))
            #expect(try await api.get(path, ["If-None-Match: \(tag)"], on: loop).status == 304)
            #expect(try await api.get("\(path)?session=main", on: loop).field("etag") == tag)
            #expect(api.gateway.requests("tts.speak").count == 1)
            #expect(api.gateway.requests("tts.speak")[0]["text"] == "Hello! You said: hello")

            for id in [user, "nobody", "..%2F..%2Fetc", "%F0%9F%94%87"] {
                let none = try await api.get("/v1/messages/\(id)/speech", on: loop)
                #expect(none.status == 404 && none["code"] == "MESSAGE_NOT_FOUND", "\(id): \(none)")
                #expect(none["field"] == "id")
            }
            #expect(api.gateway.requests("tts.speak").count == 1)
            let names = try await api.get("/v1/status", on: loop).json["link"]?["features"]?.elements.map { $0.string }
            #expect(names?.contains("speech") == true)
        }
    }

    @Test func `a token limited to sessions hears no other session`() async throws {
        try await withAPI(Self.newest) { api, loop in
            let other = try await said("a secret", "other", api, on: loop).agent
            let own = try await said("hello", "main", api, on: loop).agent
            let bound = try await api.token("read", more: #","sessions":["agent:main:main"]"#, on: loop).bearer
            #expect(try await api.get("/v1/messages/\(own)/speech", bound, on: loop).status == 200)
            let refused = try await api.get("/v1/messages/\(other)/speech?session=other", bound, on: loop)
            #expect(refused.status == 403 && refused["code"] == "SESSION_NOT_ALLOWED")
            // The id of another session's message is none of this one's.
            #expect(try await api.get("/v1/messages/\(other)/speech", bound, on: loop).status == 404)
            let sender = try await api.token("send", on: loop).bearer
            #expect(try await api.get("/v1/messages/\(own)/speech", sender, on: loop)["code"] == "MISSING_SCOPE")
            #expect(api.gateway.requests("tts.speak").count == 1)
        }
    }

    /// Each recording costs the gateway's owner money.
    @Test func `a caller has so many messages read aloud a minute, and one that was read before is free`() async throws
    {
        var setup = Self.newest
        setup.limits[.speech] = .perMinute(2)
        try await withAPI(setup) { api, loop in
            var ids: [String] = []
            for words in ["one", "two", "three"] { ids.append(try await said(words, "main", api, on: loop).agent) }
            let bearer = try await api.token("read", on: loop).bearer
            let other = try await api.token("read", on: loop).bearer
            for left in [1, 0] {
                let answer = try await api.get("/v1/messages/\(ids[1 - left])/speech", bearer, on: loop)
                #expect(answer.status == 200, "\(answer)")
                #expect(answer.field("RateLimit-Policy") == #""speech";q=2;w=60"#)
                #expect(answer.field("RateLimit")?.hasPrefix(#""speech";r=\#(left);t="#) == true, "\(answer)")
            }
            let refused = try await api.get("/v1/messages/\(ids[2])/speech", bearer, on: loop)
            #expect(refused.status == 429 && refused["code"] == "RATE_LIMITED", "\(refused)")
            #expect(refused.field("RateLimit")?.hasPrefix(#""speech";r=0;t="#) == true)
            #expect(refused.field("Retry-After") == "30")
            #expect(api.gateway.requests("tts.speak").count == 2)
            // The recordings that are there, another caller and the owner.
            for id in ids.prefix(2) {
                #expect(try await api.get("/v1/messages/\(id)/speech", bearer, on: loop).status == 200)
            }
            #expect(try await api.get("/v1/messages/\(ids[2])/speech", other, on: loop).status == 200)
            #expect(try await api.get("/v1/messages/\(ids[2])/speech", bearer, on: loop).status == 200)
            for number in 0..<4 {
                let id = try await said("more \(number)", "main", api, on: loop).agent
                let owner = try await api.get("/v1/messages/\(id)/speech", on: loop)
                #expect(owner.status == 200 && owner.field("RateLimit") == nil)
            }
        }
    }

    @Test func `a gateway without speech, one that fails and a text that is too long have answers of their own`()
        async throws
    {
        try await withAPI(.demo) { api, loop in
            let agent = try await said("hello", "main", api, on: loop).agent
            let old = try await api.get("/v1/messages/\(agent)/speech", on: loop)
            #expect(old.status == 501 && old["capability"] == "speech" && old["needs"] == "2026.7")
            #expect(api.gateway.requests("tts.speak").isEmpty)
        }
        try await withAPI(Self.newest) { api, loop in
            let failing = try await said("echo unspeakable", "main", api, on: loop).agent
            let failed = try await api.get("/v1/messages/\(failing)/speech", on: loop)
            #expect(failed.status == 502 && failed["code"] == "GATEWAY_ERROR", "\(failed)")
            let long = try await said("longtext 5000", "main", api, on: loop).agent
            let refused = try await api.get("/v1/messages/\(long)/speech", on: loop)
            #expect(refused.status == 422 && refused["code"] == "GATEWAY_REFUSED", "\(refused)")
            #expect(refused["field"] == "id" && refused["hint"]?.contains("tts.maxTextLength") == true)
            try await api.demo?.drop(on: loop)
            let away = try await api.get("/v1/messages/\(long)/speech", on: loop)
            #expect(away.status == 503 && away["code"] == "GATEWAY_UNAVAILABLE")
        }
    }

    private func scripted(_ api: APIBench, _ answer: String, on loop: isolated EventLoop) async throws -> Answer {
        try await api.bench.open(methods: ["sessions.subscribe", "tts.speak"], on: loop)
        let row = #"{"role":"assistant","content":"Good morning","timestamp":1795000000000,"stopReason":"stop","#
        api.gateway.rows["agent:main:main"] = [row + ##""__openclaw":{"id":"e-7","seq":7}}"##]
        api.gateway.next("tts.speak", ok(answer))
        return try await api.get("/v1/messages/e-7/speech", on: loop)
    }

    @Test(arguments: [
        (#"{"audioBase64":"SUQzBAAAAAA=","provider":"openai","mimeType":"text/html"}"#, "audio/mpeg", "inline"),
        (#"{"audioBase64":"AAAA","provider":"openai","outputFormat":"mp3","mimeType":"audio/mpeg"}"#, "", "attachment"),
        (#"{"audioBase64":"PGh0bWw+","provider":"x","mimeType":"audio/mpeg"}"#, "", "attachment"),
    ])
    func `the bytes decide about the type, and no page is passed on as one`(
        _ answer: String,
        _ type: String,
        _ way: String
    ) async throws {
        try await withAPI { api, loop in
            let found = try await scripted(api, answer, on: loop)
            #expect(found.status == 200, "\(found)")
            #expect(found.field("content-type") == (type.isEmpty ? "application/octet-stream" : type))
            #expect(found.field("content-disposition")?.hasPrefix(way) == true)
        }
    }

    @Test(arguments: [#"{"provider":"x"}"#, #"{"audioBase64":"%%%"}"#, #"{"audioBase64":""}"#, #"{"audioBase64":7}"#])
    func `an answer without bytes is no recording`(_ answer: String) async throws {
        try await withAPI { api, loop in
            let found = try await scripted(api, answer, on: loop)
            #expect(found.status == 502 && found["code"] == "GATEWAY_ANSWER_UNREADABLE", "\(found)")
        }
    }
}
