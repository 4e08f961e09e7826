import Basics
import JSONBytes
import TestSupport
import Testing

/// Lists read page by page: nothing is left out, nothing comes twice, and a place that is not known is said to be none.
@Suite(.serialized) struct PlaceTests {
    private static let text = ["Content-Type: text/plain"]
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)

    /// A gateway whose main session holds so many messages, `said 1` first.
    private func gateway(
        _ count: Int,
        in state: ScratchDirectory,
        text: (Int) -> String = { "said \($0)" }
    ) throws -> GatewayProcess {
        let lines = (1...count).map { number in
            let at = Self.start.adding(milliseconds: Int64(number) * 1000).rfc3339
            return #"{"key":"k\#(number)","session":"agent:main:main","text":"\#(text(number))","time":"\#(at)"}"#
                + "\n"
        }
        try state.write(Array(lines.joined().utf8), to: "record")
        return try GatewayProcess(["--record", state.file("record"), "--recall"])
    }

    private func said(_ page: JSONValue) -> [String] {
        page["messages"]?.elements.compactMap { $0["text"]?.string } ?? []
    }

    private func words(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "said \($0)" } }

    private func page(_ ladle: LadleProcess, _ query: String) throws -> JSONValue {
        try ladle.request("GET", "/v1/messages?\(query)").json
    }

    @Test func `messages behind a place far back are all there`() async throws {
        let state = try ScratchDirectory()
        let gateway = try gateway(160, in: state)
        let ladle = try await gateway.ladle(state: state)
        try ladle.online()
        let all = try page(ladle, "limit=500")
        #expect(said(all) == words(1...160))
        let third = try #require(all["messages"]?[2]?["id"]?.string)
        #expect(said(try page(ladle, "limit=10&after=\(third)")) == words(4...13))
        let end = try page(ladle, "limit=157")
        #expect(said(end) == words(4...160))
        let cursor = Base64.encode(Array("\(Self.start.milliseconds + 3000) \(third)".utf8), as: .url)
        let next = try page(ladle, "limit=10&after=\(cursor)")
        #expect(said(next) == words(4...13))
        #expect(said(try page(ladle, "limit=10&after=\(try #require(next["after"]?.string))")) == words(14...23))
        // What it names is gone: then its time tells.
        let gone = Base64.encode(Array("\(Self.start.milliseconds + 3500) gone".utf8), as: .url)
        #expect(said(try page(ladle, "limit=10&after=\(gone)")) == words(4...13))
        withExtendedLifetime(gateway) {}
    }

    @Test func `older messages are told of, however many rows of those read are none`() async throws {
        let state = try ScratchDirectory()
        // A page of ten is looked for among a hundred rows.
        let gateway = try gateway(160, in: state) { $0 % 10 == 0 ? "said \($0)" : "/verbose on" }
        let ladle = try await gateway.ladle(state: state)
        try ladle.online()
        let newest = try page(ladle, "limit=10")
        #expect(said(newest) == stride(from: 70, through: 160, by: 10).map { "said \($0)" })
        let before = try #require(newest["before"]?.string)
        let older = try page(ladle, "limit=10&before=\(before)")
        #expect(said(older) == stride(from: 10, through: 60, by: 10).map { "said \($0)" })
        #expect(older["before"] == nil)
        withExtendedLifetime(gateway) {}
    }

    @Test func `a place further back than the gateway tells is said to be none`() async throws {
        let state = try ScratchDirectory()
        let gateway = try gateway(1200, in: state)
        let ladle = try await gateway.ladle(state: state)
        try ladle.online()
        let early = Base64.encode(Array("\(Self.start.milliseconds + 3000) gone".utf8), as: .url)
        let answer = try ladle.request("GET", "/v1/messages?limit=10&after=\(early)")
        #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
        withExtendedLifetime(gateway) {}
    }

    @Test func `a page that is not kept is no reason to begin with the newest again`() async throws {
        let state = try ScratchDirectory()
        var gateway: GatewayProcess? = try gateway(600, in: state)
        let ladle = try #require(try await gateway?.ladle(state: state))
        try ladle.online()
        // One of those that are kept no more, and the oldest of those that are.
        let all = try page(ladle, "limit=500")
        #expect(said(all) == words(101...600))
        let cursor = try #require(all["before"]?.string)
        let older = try page(ladle, "limit=20&before=\(cursor)")
        #expect(said(older) == words(81...100))
        let lost = try #require(older["messages"]?[0]?["id"]?.string)
        let place = try #require(older["before"]?.string)
        gateway = nil
        try ladle.link { $0["state"]?.string != "online" }
        let kept = try page(ladle, "limit=5")
        #expect(kept["live"]?.bool == false)
        #expect(said(kept) == words(596...600))
        #expect(said(try page(ladle, "limit=5&before=\(try #require(kept["before"]?.string))")) == words(591...595))
        #expect(said(try page(ladle, "limit=5&before=\(place)")) == [])
        let between = Base64.encode(Array("\(Self.start.milliseconds + 200_500) gone".utf8), as: .url)
        #expect(said(try page(ladle, "limit=5&before=\(between)")) == words(196...200))
        #expect(said(try page(ladle, "limit=5&after=\(between)")) == words(201...205))
        // Behind it messages are missing, or nothing tells where it was.
        for query in ["after=\(place)", "after=\(lost)", "before=\(lost)"] {
            let answer = try ladle.request("GET", "/v1/messages?limit=5&\(query)")
            #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
            #expect(query.hasPrefix(answer["field"] ?? "none"))
        }
        // A message that still waits is a place too.
        let own = try #require(try ladle.request("POST", "/v1/messages", Self.text, body: "later")["id"])
        #expect(said(try page(ladle, "limit=2")) == ["said 600", "later"])
        #expect(said(try page(ladle, "limit=2&before=\(own)")) == words(599...600))
        #expect(said(try page(ladle, "limit=2&after=\(own)")) == [])
    }

    @Test func `an entry that is kept no more is no place in the outbox`() async throws {
        let ladle = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], demo: false)
        _ = try ladle.request("POST", "/v1/messages", Self.text, body: "one")
        let gone = UUIDv7.make(milliseconds: 1_700_000_000_000, random: [UInt8](repeating: 7, count: 10))
        let answer = try ladle.request("GET", "/v1/outbox?before=\(gone)")
        #expect(answer.status == 404 && answer["code"] == "PLACE_NOT_FOUND", "\(answer)")
    }

    @Test func `runs that wait for their turn are listed page by page`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "1"])
        var ids: [String] = []
        for words in ["slow count", "hello", "hello again"] {
            ids.append(try #require(try ladle.request("POST", "/v1/messages", Self.text, body: words)["id"]))
        }
        try eventually {
            let runs = try ladle.request("GET", "/v1/activity").json["runs"]?.elements.map { $0["state"]?.string } ?? []
            return runs.count == 3 && runs.contains("running") ? true : nil
        }
        var listed: [String] = []
        var query = "limit=1"
        while listed.count < 4 {
            let answer = try ladle.request("GET", "/v1/runs?\(query)")
            #expect(answer.status == 200, "\(answer)")
            listed += answer.json["runs"]?.elements.compactMap { $0["id"]?.string } ?? []
            guard let before = answer.json["before"]?.string else { break }
            query = "limit=1&before=\(before)"
        }
        // The time a run is listed under is that of its own start.
        #expect(listed.sorted() == ids)
    }

    @Test func `a short list of sessions does not shorten the one that is kept`() async throws {
        var gateway: GatewayProcess? = try GatewayProcess()
        let ladle = try #require(try await gateway?.ladle())
        try ladle.online()
        for session in ["den", "attic", "cellar"] {
            let sent = try ladle.request("POST", "/v1/messages?wait=20&session=\(session)", Self.text, body: "hello")
            #expect(sent.status == 200, "\(sent)")
        }
        let made = try ladle.request(
            "POST",
            "/v1/tokens",
            ["Content-Type: application/json"],
            body: #"{"name":"den","scopes":["read"],"sessions":["den"]}"#
        )
        let bearer = ["Authorization: Bearer \(try #require(made["token"]))"]
        func keys(_ query: String = "", _ fields: [String] = []) throws -> [String?] {
            let list = try ladle.request("GET", "/v1/sessions\(query)", fields).json["sessions"]
            return list?.elements.map { $0["key"]?.string } ?? []
        }
        let all = try keys()
        #expect(all.count == 4)
        #expect(try keys("?limit=1") == [all[0]])
        // The limit is about what the caller may see.
        #expect(try keys("?limit=1", bearer) == ["agent:main:den"])
        gateway = nil
        try ladle.link { $0["state"]?.string != "online" }
        // It is written in the background.
        let kept = try eventually {
            let kept = try keys()
            return kept.isEmpty ? nil : kept
        }
        #expect(kept == all)
        #expect(try keys("?limit=2") == Array(all.prefix(2)))
        #expect(try keys("?limit=1", bearer) == ["agent:main:den"])
    }
}
