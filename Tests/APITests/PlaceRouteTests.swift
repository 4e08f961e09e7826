import Basics
import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

/// Lists read page by page: nothing is left out, nothing comes twice, and an unknown position is refused. Some of the
/// shown data is from an earlier connection.
struct PlaceRouteTests {
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)

    /// A gateway whose main session holds so many messages, `said 1` first.
    private func withMessages(
        _ count: Int,
        text: @escaping @Sendable (Int) -> String = { "said \($0)" },
        _ test: @escaping @Sendable (APIBench, isolated EventLoop) async throws -> Void
    ) async throws {
        try await withAPI(.demo) { api, loop in
            for number in 1...count {
                let at = Self.start.adding(milliseconds: Int64(number) * 1000)
                api.demo?.gateway.remember(text(number), key: "k\(number)", at: at)
            }
            try await test(api, loop)
        }
    }

    private func keys(
        _ query: String,
        _ fields: [String],
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> [String?] {
        let list = try await api.get("/v1/sessions\(query)", fields, on: loop).json["sessions"]
        return list?.elements.map { $0["key"]?.string } ?? []
    }

    private func said(_ page: JSONValue) -> [String] {
        page["messages"]?.elements.compactMap { $0["text"]?.string } ?? []
    }

    private func words(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "said \($0)" } }

    private func page(_ query: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> JSONValue {
        try await api.get("/v1/messages?\(query)", on: loop).json
    }

    @Test func `messages behind a place far back are all there`() async throws {
        try await withMessages(160) { api, loop in
            let all = try await page("limit=500", api, on: loop)
            #expect(said(all) == words(1...160))
            let third = try #require(all["messages"]?[2]?["id"]?.string)
            #expect(said(try await page("limit=10&after=\(third)", api, on: loop)) == words(4...13))
            let end = try await page("limit=157", api, on: loop)
            #expect(said(end) == words(4...160))
            let cursor = Base64.encode(Array("\(Self.start.milliseconds + 3000) \(third)".utf8), as: .url)
            let next = try await page("limit=10&after=\(cursor)", api, on: loop)
            #expect(said(next) == words(4...13))
            #expect(
                said(try await page("limit=10&after=\(try #require(next["after"]?.string))", api, on: loop))
                    == words(14...23)
            )
            // The named message is gone, so its time decides.
            let gone = Base64.encode(Array("\(Self.start.milliseconds + 3500) gone".utf8), as: .url)
            #expect(said(try await page("limit=10&after=\(gone)", api, on: loop)) == words(4...13))
        }
    }

    @Test func `older messages are told of, however many rows of those read are none`() async throws {
        try await withMessages(160, text: { $0 % 10 == 0 ? "said \($0)" : "/verbose on" }) { api, loop in
            // Ten messages are searched for among a hundred rows.
            let newest = try await page("limit=10", api, on: loop)
            #expect(said(newest) == stride(from: 70, through: 160, by: 10).map { "said \($0)" })
            let before = try #require(newest["before"]?.string)
            let older = try await page("limit=10&before=\(before)", api, on: loop)
            #expect(said(older) == stride(from: 10, through: 60, by: 10).map { "said \($0)" })
            #expect(older["before"] == nil)
        }
    }

    @Test func `a place further back than the gateway tells is said to be none`() async throws {
        try await withMessages(1200) { api, loop in
            let early = Base64.encode(Array("\(Self.start.milliseconds + 3000) gone".utf8), as: .url)
            let answer = try await api.get("/v1/messages?limit=10&after=\(early)", on: loop)
            #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
        }
    }

    @Test func `a page that is not kept is no reason to begin with the newest again`() async throws {
        try await withMessages(600) { api, loop in
            // A message that is no longer cached, and the oldest one that is.
            let all = try await page("limit=500", api, on: loop)
            #expect(said(all) == words(101...600))
            let cursor = try #require(all["before"]?.string)
            let older = try await page("limit=20&before=\(cursor)", api, on: loop)
            #expect(said(older) == words(81...100))
            let lost = try #require(older["messages"]?[0]?["id"]?.string)
            let place = try #require(older["before"]?.string)
            try await api.demo?.drop(on: loop)
            let kept = try await page("limit=5", api, on: loop)
            #expect(kept["live"]?.bool == false)
            #expect(said(kept) == words(596...600))
            #expect(
                said(try await page("limit=5&before=\(try #require(kept["before"]?.string))", api, on: loop))
                    == words(591...595)
            )
            #expect(said(try await page("limit=5&before=\(place)", api, on: loop)) == [])
            let between = Base64.encode(Array("\(Self.start.milliseconds + 200_500) gone".utf8), as: .url)
            #expect(said(try await page("limit=5&before=\(between)", api, on: loop)) == words(196...200))
            #expect(said(try await page("limit=5&after=\(between)", api, on: loop)) == words(201...205))
            // After that position messages are missing, or its time is unknown.
            for query in ["after=\(place)", "after=\(lost)", "before=\(lost)"] {
                let answer = try await api.get("/v1/messages?limit=5&\(query)", on: loop)
                #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
                #expect(query.hasPrefix(answer["field"] ?? "none"))
            }
            // A waiting message is a valid position too.
            let own = try #require(try await api.say("later", on: loop)["id"])
            #expect(said(try await page("limit=2", api, on: loop)) == ["said 600", "later"])
            #expect(said(try await page("limit=2&before=\(own)", api, on: loop)) == words(599...600))
            #expect(said(try await page("limit=2&after=\(own)", api, on: loop)) == [])
        }
    }

    @Test func `runs in progress are listed page by page`() async throws {
        try await withAPI(.init(demo: { $0.speed = 1 })) { api, loop in
            var ids: [String] = []
            for (words, session) in [("slow count", "main"), ("slow count", "den"), ("slow count", "attic")] {
                ids.append(try #require(try await api.say(words, "?session=\(session)", on: loop)["id"]))
            }
            try await api.advance(500, on: loop)
            let active = try await api.get("/v1/activity", on: loop).json["runs"]?.elements.map { $0["state"]?.string }
            #expect(active?.count == 3 && active?.contains("running") == true)
            var listed: [String] = []
            var query = "limit=1"
            while listed.count < 4 {
                let answer = try await api.get("/v1/runs?\(query)", on: loop)
                #expect(answer.status == 200, "\(answer)")
                listed += answer.json["runs"]?.elements.compactMap { $0["id"]?.string } ?? []
                guard let before = answer.json["before"]?.string else { break }
                query = "limit=1&before=\(before)"
            }
            // A run is listed under its own start time.
            #expect(listed.sorted() == ids)
        }
    }

    @Test func `a short list of sessions does not shorten the one that is kept`() async throws {
        try await withAPI(.demo) { api, loop in
            for session in ["den", "attic", "cellar"] {
                let sent = try await api.say("hello", "?wait=20&session=\(session)", on: loop)
                #expect(sent.status == 200, "\(sent)")
            }
            let bearer = try await api.token("read", more: #","sessions":["den"]"#, on: loop).bearer
            let all = try await keys("", [], api, on: loop)
            #expect(all.count == 4)
            #expect(try await keys("?limit=1", [], api, on: loop) == [all[0]])
            // The limit applies to the sessions that the caller may see.
            #expect(try await keys("?limit=1", bearer, api, on: loop) == ["agent:main:den"])
            try await api.demo?.drop(on: loop)
            #expect(try await keys("", [], api, on: loop) == all)
            #expect(try await keys("?limit=2", [], api, on: loop) == Array(all.prefix(2)))
            #expect(try await keys("?limit=1", bearer, api, on: loop) == ["agent:main:den"])
        }
    }

    @Test func `the gateway's attachment limits are known while it is away`() async throws {
        try await withAPI(.demo) { api, loop in
            try await api.demo?.drop(on: loop)
            let body = #"{"text":"read this","attachments":[{"mimeType":"application/pdf","data":"JVBERi0xLjQ="}]}"#
            let answer = try await api.post("/v1/messages", Field.json, body, on: loop)
            #expect(answer.status == 202, "\(answer)")
        }
    }

    @Test func `a main session of another name is known before the gateway is reached again`() async throws {
        try await withAPI(.init(demo: { $0.mainKey = "ops" })) { api, loop in
            try await api.demo?.drop(on: loop)
            try await api.restart(on: loop)
            for name in ["main", "ops", "agent:main:main"] {
                let answer = try await api.say("hi", "?session=\(name)", on: loop)
                #expect(answer["session"] == "agent:main:ops", "\(name): \(answer)")
            }
            let body = #"{"name":"lamp","scopes":["send"],"sessions":["main"]}"#
            let token = try await api.post("/v1/tokens", Field.json, body, on: loop)
            #expect(token.json["sessions"]?[0]?.string == "agent:main:ops", "\(token)")
        }
    }
}
