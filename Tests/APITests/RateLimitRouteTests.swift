import Access
import TestSupport
import Testing

/// The limits of each caller, and their headers.
struct RateLimitRouteTests {
    private static func sends(_ burst: Int64, _ intervalMs: Int64) -> APIBench.Setup {
        .init(limits: [.sends: RateLimitPolicy(burst: burst, intervalMilliseconds: intervalMs)])
    }

    @Test func `a caller sends five to a session at once, then one a second, and hears how many are left`() async throws
    {
        try await withAPI(Self.sends(5, 30_000)) { api, loop in
            let one = try await api.token("read", "send", on: loop).bearer
            let other = try await api.token("read", "send", on: loop).bearer
            for left in (0..<5).reversed() {
                let answer = try await api.say("x", "", one, on: loop)
                #expect(answer.status == 202, "\(answer)")
                #expect(answer.field("RateLimit-Policy") == #""sends";q=5;w=150"#)
                #expect(answer.field("RateLimit")?.hasPrefix(#""sends";r=\#(left);t="#) == true, "\(answer)")
                #expect(answer.field("Retry-After") == nil)
            }
            let refused = try await api.say("x", "", one, on: loop)
            #expect(refused.status == 429)
            #expect(refused["code"] == "RATE_LIMITED")
            #expect(refused.field("RateLimit")?.hasPrefix(#""sends";r=0;t="#) == true)
            #expect(refused.field("Retry-After") == "30")
            // Another session and another caller have limits of their own; the owner has none.
            #expect(try await api.say("x", "?session=agent:main:elsewhere", one, on: loop).status == 202)
            #expect(try await api.say("x", "", other, on: loop).status == 202)
            for _ in 0..<8 {
                let owner = try await api.say("x", on: loop)
                #expect(owner.status == 202)
                #expect(owner.field("RateLimit") == nil)
            }
        }
    }

    /// Each new name is a session with a limit of its own.
    @Test func `a caller cannot fill the outbox by naming ever new sessions`() async throws {
        try await withAPI(.away) { api, loop in
            let bearer = try await api.token("send", on: loop).bearer
            let other = try await api.token("send", on: loop).bearer
            var statuses: [Int] = []
            for number in 0..<70 {
                statuses.append(try await api.say("x", "?session=s\(number)", bearer, on: loop).status)
            }
            #expect(statuses.prefix(60).allSatisfy { $0 == 202 } && statuses.suffix(9).allSatisfy { $0 == 429 })
            let refused = try await api.say("x", "?session=fresh", bearer, on: loop)
            #expect(refused.field("RateLimit") == nil || refused.field("RateLimit")?.contains("all-sends") == true)
            #expect(try await api.say("x", "?session=fresh", other, on: loop).status == 202)
            #expect(try await api.say("x", "?session=fresh", on: loop).status == 202)
        }
    }

    @Test func `a client that waits as long as it was told is served again`() async throws {
        try await withAPI(Self.sends(1, 1000)) { api, loop in
            let bearer = try await api.token("send", on: loop).bearer
            #expect(try await api.say("x", "", bearer, on: loop).field("RateLimit-Policy") == #""sends";q=1;w=1"#)
            let refused = try await api.say("x", "", bearer, on: loop)
            #expect(refused.status == 429)
            #expect(refused.field("Retry-After") == "1")
            try await api.advance(1000, on: loop)
            #expect(try await api.say("x", "", bearer, on: loop).status == 202)
        }
    }

    @Test func `wrong credentials are throttled per user of this host and per token, the right one never`() async throws
    {
        try await withAPI(.init(limits: [.auth: .perMinute(3)])) { api, loop in
            let right = try await api.token("read", on: loop).bearer
            for left in [2, 1, 0] {
                let answer = try await api.guess("ldl_guess\(left)", from: .user(1001), on: loop)
                #expect(answer.status == 401)
                #expect(answer.field("RateLimit-Policy") == #""auth";q=3;w=60"#)
                #expect(answer.field("RateLimit")?.hasPrefix(#""auth";r=\#(left);t="#) == true)
            }
            let refused = try await api.guess("ldl_guess3", from: .user(1001), on: loop)
            #expect(refused.status == 429)
            #expect(refused.field("Retry-After") != nil)
            #expect(try await api.get("/v1/status", right, from: .user(1001), on: loop).status == 200)
            // Another user has its own count, but guesses at one token are counted for all users together.
            #expect(try await api.guess("ldl_another", from: .user(1002), on: loop).status == 401)
            for number in 0..<2 {
                #expect(try await api.guess("ldl_samexx\(number)", from: .user(1002), on: loop).status == 401)
            }
            #expect(try await api.guess("ldl_samexx2", from: .user(1003), on: loop).status == 401)
            #expect(try await api.guess("ldl_samexx3", from: .user(1003), on: loop).status == 429)
            #expect(try await api.guess("ldl_else", from: .user(1003), on: loop).status == 401)
            for user in [1003, APIBench.owner] {
                #expect(try await api.get("/v1/status", right, from: .user(user), on: loop).status == 200)
            }
        }
    }

    @Test func `five applications a minute and user, told on each`() async throws {
        try await withAPI { api, loop in
            let body = #"{"name":"phone","scopes":["read"]}"#
            for left in (0..<5).reversed() {
                let answer = try await api.post("/v1/pairing", Field.json, body, on: loop)
                #expect(answer.status == 202)
                #expect(answer.field("RateLimit-Policy") == #""pairing";q=5;w=60"#)
                #expect(answer.field("RateLimit")?.hasPrefix(#""pairing";r=\#(left);t="#) == true)
            }
            let refused = try await api.post("/v1/pairing", Field.json, body, on: loop)
            #expect(refused.status == 429)
            #expect(refused.field("Retry-After") != nil)
            let answer = try await api.post("/v1/pairing", Field.json, "{}", from: .user(1001), on: loop)
            #expect(answer.status == 422)
            #expect(answer.field("RateLimit")?.hasPrefix(#""pairing";r=4;t="#) == true)
        }
    }

    @Test func `a caller has so many streams, waiting polls among them, and gets one back for each that ends`()
        async throws
    {
        try await withAPI(.init(streams: StreamSlots(perCaller: 2))) { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            let first = try await api.open("GET", "/v1/events", bearer, on: loop)
            #expect(first.answer?.field("RateLimit-Policy") == #""streams";q=2;qu="concurrent-requests""#)
            #expect(first.answer?.field("RateLimit") == #""streams";r=1"#)
            let second = try await api.open("GET", "/v1/events", bearer, on: loop)
            #expect(second.answer?.field("RateLimit") == #""streams";r=0"#)
            let third = try await api.open("GET", "/v1/events", bearer, on: loop)
            #expect(third.hasEnded && third.answer?.status == 200)
            #expect(third.text.contains("too_many_streams"))
            let poll = try await api.get("/v1/events?poll=5", bearer, on: loop)
            #expect(poll.status == 429)
            #expect(poll["code"] == "TOO_MANY_STREAMS")
            #expect(poll.field("Retry-After") != nil)
            for _ in 0..<5 {
                let owner = try await api.open("GET", "/v1/events", on: loop)
                #expect(!owner.hasEnded && owner.text.contains("event: hello"))
                #expect(owner.answer?.field("RateLimit") == nil)
            }
            first.leave(on: loop)
            let fourth = try await api.open("GET", "/v1/events", bearer, on: loop)
            #expect(!fourth.hasEnded && fourth.text.contains("event: hello"))
        }
    }

    @Test func `a stream over the limit leaves its client where it was`() async throws {
        try await withAPI(.init(streams: StreamSlots(perCaller: 1))) { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            #expect(try await api.say("x", on: loop).status == 202)
            let newest = try #require(try await api.get("/v1/events?poll=0", on: loop)["cursor"])
            let epoch = newest.prefix { $0 != "." }
            #expect(newest != "\(epoch).0")
            _ = try await api.open("GET", "/v1/events", bearer, on: loop)
            for (asked, resume) in [("\(epoch).0", "recovered"), (newest, "recovered"), ("zz.7", "reset")] {
                let over = try await api.get("/v1/events", bearer + ["Last-Event-ID: \(asked)"], on: loop)
                #expect(over.body.contains(#""reason":"too_many_streams""#))
                #expect(
                    over.body.contains("id: \(asked)\n") && over.body.contains(#""resume":"\#(resume)""#),
                    "\(over)"
                )
                #expect(over.body.ranges(of: "id: ").count == 1)
                #expect(over.body.contains(#""epoch":"\#(epoch)""#))
            }
        }
    }

    @Test func `a poll that its caller gave up gives its place back at once`() async throws {
        try await withAPI(.init(streams: StreamSlots(perCaller: 1))) { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            let poll = try await api.open("GET", "/v1/events?poll=60&types=reset", bearer, on: loop)
            #expect(try await api.get("/v1/events?poll=1&types=reset", bearer, on: loop).status == 429)
            poll.leave(on: loop)
            #expect(try await api.get("/v1/events?poll=0&types=reset", bearer, on: loop).status == 200)
        }
    }
}
