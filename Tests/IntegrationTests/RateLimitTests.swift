import Basics
import Foundation
import TestSupport
import Testing

/// What is limited, per whom, and what those who are limited are told.
@Suite(.serialized) struct RateLimitTests {
    private static let json = ["Content-Type: application/json"]

    private func bearer(_ token: String) -> [String] { ["Authorization: Bearer \(token)"] }

    private func token(_ ladle: LadleProcess, _ scopes: String = #""read","send""#) throws -> String {
        let body = #"{"name":"test","scopes":[\#(scopes)]}"#
        return try #require(try ladle.request("POST", "/v1/tokens", Self.json, body: body)["token"])
    }

    private func send(_ ladle: LadleProcess, _ fields: [String], to session: String = "main") throws -> Answer {
        try ladle.request("POST", "/v1/messages", Self.json + fields, body: #"{"text":"x","session":"\#(session)"}"#)
    }

    @Test func `a caller sends five to a session at once, then one a second, and hears how many are left`() async throws
    {
        let ladle = try await LadleProcess(["--limits-sends-interval", "30s"])
        let (one, other) = (try token(ladle), try token(ladle))
        for left in (0..<5).reversed() {
            let answer = try send(ladle, bearer(one))
            #expect(answer.status == 202, "\(answer)")
            #expect(answer.field("RateLimit-Policy") == #""sends";q=5;w=150"#)
            #expect(answer.field("RateLimit")?.hasPrefix(#""sends";r=\#(left);t="#) == true, "\(answer.head)")
            #expect(answer.field("Retry-After") == nil)
        }
        let refused = try send(ladle, bearer(one))
        #expect(refused.status == 429)
        #expect(refused["code"] == "RATE_LIMITED")
        #expect(refused.field("RateLimit")?.hasPrefix(#""sends";r=0;t="#) == true)
        let wait = try #require(refused.field("Retry-After").flatMap { Int($0) })
        #expect((1...30).contains(wait))
        // Another session and another caller have their own; the owner has none.
        #expect(try send(ladle, bearer(one), to: "agent:main:elsewhere").status == 202)
        #expect(try send(ladle, bearer(other)).status == 202)
        for _ in 0..<8 {
            let owner = try send(ladle, [])
            #expect(owner.status == 202)
            #expect(owner.field("RateLimit") == nil)
        }
    }

    @Test func `a client that waits as long as it was told is served again`() async throws {
        let ladle = try await LadleProcess(["--limits-sends-burst", "1"])
        let token = try token(ladle)
        #expect(try send(ladle, bearer(token)).field("RateLimit-Policy") == #""sends";q=1;w=1"#)
        let refused = try send(ladle, bearer(token))
        #expect(refused.status == 429)
        #expect(refused.field("Retry-After") == "1")
        // Not for a condition: that the second it was told is enough is what is asked.
        try await Task.sleep(for: .seconds(1))
        #expect(try send(ladle, bearer(token)).status == 202)
    }

    @Test func `wrong credentials are throttled per user of this host and per token, the right one never`() async throws
    {
        guard getuid() == 0 else { return }
        let ladle = try await LadleProcess(["--limits-auth-per-minute", "3"])
        let right = try token(ladle)
        func ask(_ credential: String, as uid: UInt32) throws -> Answer {
            let socket = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: uid)
            return try ladle.request("GET", "/v1/status", bearer(credential), on: socket)
        }
        for left in [2, 1, 0] {
            let answer = try ask("ldl_guess\(left)", as: 1001)
            #expect(answer.status == 401)
            #expect(answer.field("RateLimit-Policy") == #""auth";q=3;w=60"#)
            #expect(answer.field("RateLimit")?.hasPrefix(#""auth";r=\#(left);t="#) == true)
        }
        let refused = try ask("ldl_guess3", as: 1001)
        #expect(refused.status == 429)
        #expect(refused.field("Retry-After") != nil)
        #expect(try ask(right, as: 1001).status == 200)
        // Another user has its own count, but one token is guessed at so often by all together.
        #expect(try ask("ldl_another", as: 1002).status == 401)
        for _ in 0..<2 { #expect(try ask("ldl_samexx\(UInt64.random(in: 0...9))", as: 1002).status == 401) }
        #expect(try ask("ldl_samexx1", as: 1003).status == 401)
        #expect(try ask("ldl_samexx2", as: 1003).status == 429)
        #expect(try ask("ldl_else", as: 1003).status == 401)
        #expect(try ask(right, as: 1003).status == 200)
        #expect(try ask(right, as: 0).status == 200)
    }

    @Test func `five applications a minute and user, told on each`() async throws {
        let ladle = try await LadleProcess()
        let body = #"{"name":"phone","scopes":["read"]}"#
        for left in (0..<5).reversed() {
            let answer = try ladle.request("POST", "/v1/pairing", Self.json, body: body)
            #expect(answer.status == 202)
            #expect(answer.field("RateLimit-Policy") == #""pairing";q=5;w=60"#)
            #expect(answer.field("RateLimit")?.hasPrefix(#""pairing";r=\#(left);t="#) == true)
        }
        let refused = try ladle.request("POST", "/v1/pairing", Self.json, body: body)
        #expect(refused.status == 429)
        #expect(refused.field("Retry-After") != nil)
        guard getuid() == 0 else { return }
        let other = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: 1001)
        let answer = try ladle.request("POST", "/v1/pairing", Self.json, body: "{}", on: other)
        #expect(answer.status == 422)
        #expect(answer.field("RateLimit")?.hasPrefix(#""pairing";r=4;t="#) == true)
    }

    @Test func `a caller has so many streams, waiting polls among them, and gets one back for each that ends`()
        async throws
    {
        let ladle = try await LadleProcess(["--events-streams-per-caller", "2"])
        let token = try token(ladle)
        func open(_ query: String = "", _ fields: [String]) throws -> (socket: BlockingSocket, text: String) {
            let socket = try ladle.connect()
            try socket.send(ladle.requestBytes("GET", "/v1/events\(query)", fields))
            var text = ""
            while !text.contains("event: hello") {
                let more = try socket.receive()
                if more.isEmpty { break }
                text += String(decoding: more, as: UTF8.self)
            }
            return (socket, text)
        }
        let first = try open("", bearer(token))
        #expect(first.text.contains(#"RateLimit-Policy: "streams";q=2;qu="concurrent-requests""#), "\(first.text)")
        #expect(first.text.contains(#"RateLimit: "streams";r=1"#))
        let second = try open("", bearer(token))
        #expect(second.text.contains(#"RateLimit: "streams";r=0"#))
        var third = try open("", bearer(token))
        while case let more = try third.socket.receive(), !more.isEmpty {
            third.text += String(decoding: more, as: UTF8.self)
        }
        #expect(third.text.contains("too_many_streams"))
        #expect(third.text.contains("HTTP/1.1 200"))
        let poll = try ladle.request("GET", "/v1/events?poll=5", bearer(token))
        #expect(poll.status == 429)
        #expect(poll["code"] == "TOO_MANY_STREAMS")
        #expect(poll.field("Retry-After") != nil)
        var owners: [BlockingSocket] = []
        for _ in 0..<5 {
            let opened = try open("", [])
            #expect(!opened.text.contains("RateLimit") && opened.text.contains("event: hello"))
            owners.append(opened.socket)
        }
        first.socket.close()
        try eventually { try open("", bearer(token)).text.contains("too_many_streams") ? nil : () }
        withExtendedLifetime((second.socket, owners)) {}
    }

    @Test func `a stream over the limit leaves its client where it was`() async throws {
        let ladle = try await LadleProcess(["--events-streams-per-caller", "1"])
        let token = try token(ladle)
        #expect(try send(ladle, []).status == 202)
        let newest = try #require(try ladle.request("GET", "/v1/events?poll=0")["cursor"])
        let epoch = newest.prefix { $0 != "." }
        #expect(newest != "\(epoch).0")
        let first = try ladle.connect()
        try first.send(ladle.requestBytes("GET", "/v1/events", bearer(token)))
        _ = try first.read(until: "event: hello")
        for (asked, resume) in [("\(epoch).0", "recovered"), (newest, "recovered"), ("zz.7", "reset")] {
            let over = try ladle.request("GET", "/v1/events", bearer(token) + ["Last-Event-ID: \(asked)"])
            #expect(over.body.contains(#""reason":"too_many_streams""#))
            #expect(over.body.contains("id: \(asked)\n") && over.body.contains(#""resume":"\#(resume)""#), "\(over)")
            #expect(over.body.components(separatedBy: "id: ").count == 2)
            #expect(over.body.contains(#""epoch":"\#(epoch)""#))
        }
        first.close()
    }

    @Test func `a poll that its caller gave up gives its place back at once`() async throws {
        let ladle = try await LadleProcess(["--events-streams-per-caller", "1"])
        let token = try token(ladle)
        func status() throws -> Int {
            try ladle.request("GET", "/v1/events?poll=1&types=reset", bearer(token)).status
        }
        let poll = try ladle.connect()
        try poll.send(ladle.requestBytes("GET", "/v1/events?poll=60&types=reset", bearer(token)))
        try eventually { try status() == 429 ? () : nil }
        poll.close()
        try eventually { try status() == 200 ? () : nil }
    }
}
