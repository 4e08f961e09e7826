import API
import Access
import Basics
import JSONBytes
import Store
import TestSupport
import Testing

/// Tokens, applications for pairing, and tickets.
struct TokenRouteTests {
    @Test func `without a credential only the owner gets in, and refusals say how to get one`() async throws {
        try await withAPI { api, loop in
            #expect(try await api.get("/v1/status", on: loop).status == 200)
            let refused = try await api.get("/v1/status", Field.forwarded, on: loop)
            #expect(refused.status == 401)
            #expect(refused["code"] == "NOT_PAIRED")
            #expect(refused.field("WWW-Authenticate") == #"Bearer realm="ladle""#)
            #expect(try await api.get("/healthz", Field.forwarded, on: loop).status == 200)
        }
    }

    @Test func `a wrong credential counts, for the owner too, with one text for all`() async throws {
        try await withAPI { api, loop in
            var bodies: Set<String> = []
            for value in ["Bearer x", "Bearer ldl_000", "Basic eDp5", "Bearer", "Bearer a, Bearer b", "x"] {
                let answer = try await api.get("/v1/status", ["Authorization: \(value)"], on: loop)
                #expect(answer.status == 401, "\(value): \(answer)")
                bodies.insert(answer["detail"] ?? "")
            }
            #expect(bodies.count == 1)
        }
    }

    @Test func `a token may do what its scopes say, until it is replaced or revoked`() async throws {
        try await withAPI { api, loop in
            let (id, token, bearer) = try await api.token("read", on: loop)
            #expect(try await api.get("/v1/status", bearer + Field.forwarded, on: loop).status == 200)
            let refused = try await api.post("/v1/messages", bearer + Field.json, #"{"text":"x"}"#, on: loop)
            #expect(refused.status == 403)
            #expect(refused["code"] == "MISSING_SCOPE")
            #expect(refused.body.contains(#""requiredScopes":["send"]"#))
            let list = try await api.get("/v1/tokens", on: loop).body
            #expect(list.contains(id) && !list.contains(token))
            let rotated = try await api.post("/v1/tokens/\(id)/rotate", Field.json, "{}", on: loop)
            let fresh = ["Authorization: Bearer \(try #require(rotated["token"]))"]
            #expect(try await api.get("/v1/status", bearer, on: loop).status == 401)
            #expect(try await api.get("/v1/status", fresh, on: loop).status == 200)
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 204)
            #expect(try await api.get("/v1/status", fresh, on: loop).status == 401)
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 404)
        }
    }

    @Test(arguments: ["revoke", "rotate"])
    func `with a token ends all that was made with it`(how: String) async throws {
        try await withAPI(APIBench.Setup(api: { $0.hasApprovalLinks = true })) { api, loop in
            api.gateway.next("exec.approval.list", ok("[]"))
            try await api.bench.open(methods: Asked.listing, on: loop)
            try await api.bench.asks(Asked.exec("a"), on: loop)
            let (id, _, bearer) = try await api.token("admin", on: loop)
            let json = bearer + Field.json
            let invitation = try await api.post("/v1/pairing/invitations", json, #"{"name":"phone"}"#, on: loop)
            let secret = try #require(invitation["secret"])
            #expect(try await api.get("/v1/pairing/invitations", on: loop).json["invitations"]?.count == 1)
            let wish = try await api.post("/v1/pairing", Field.json, #"{"name":"tv","scopes":["read"]}"#, on: loop)
            let code = try #require(wish["code"])
            #expect(try await api.post("/v1/pairing/approve", json, #"{"code":"\#(code)"}"#, on: loop).status == 200)
            let ticket = try await api.post("/v1/tickets", json, #"{"path":"/v1/runs"}"#, on: loop)["ticket"]
            let made = try await api.post("/v1/approvals/a/links", json, #"{"decision":"deny"}"#, on: loop)
            let link = try #require(made["url"])
            #expect(try await api.get(link, on: loop).status == 200)

            let ended =
                how == "revoke"
                ? try await api.request("DELETE", "/v1/tokens/\(id)", on: loop)
                : try await api.post("/v1/tokens/\(id)/rotate", [], nil, on: loop)
            #expect(ended.status < 300, "\(ended)")
            #expect(try await api.get("/v1/pairing/invitations", on: loop).json["invitations"]?.count == 0)
            #expect(try await api.post("/v1/pairing", Field.json, #"{"secret":"\#(secret)"}"#, on: loop).status == 410)
            let collected = try await api.get("/v1/pairing/\(wish["id"] ?? "")", on: loop)
            #expect(collected["status"] == "rejected" && collected["token"] == nil)
            #expect(try await api.get("/v1/runs?ticket=\(ticket ?? "")", on: loop).status == 401)
            #expect(try await api.get(link, on: loop).status == 404)
            #expect(try await api.post(link, [], nil, on: loop).status == 404)
            #expect(api.gateway.requests("exec.approval.resolve").isEmpty)
        }
    }

    @Test func `a revocation that the disk does not take is tried again until it does`() async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("read", on: loop)
            api.bench.journal.failWrites(.storageFull)
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 503)
            #expect(try await api.get("/v1/status", bearer, on: loop).status == 401)
            try await api.advance(10_000, on: loop)
            #expect(try await api.bench.journal.read { try $0.tokens.load().count } == 1)
            api.bench.journal.failWrites(nil)
            try await api.advance(60_000, on: loop)
            #expect(try await api.bench.journal.read { try $0.tokens.load().count } == 0)
        }
    }

    @Test func `revoking closes the token's streams at once and leaves the others`() async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("read", on: loop)
            let other = try await api.token("read", on: loop).bearer
            let mine = try await api.open("GET", "/v1/events", bearer, on: loop)
            let theirs = try await api.open("GET", "/v1/events?heartbeat=5", other, on: loop)
            #expect(mine.text.contains("event: hello") && theirs.text.contains("event: hello"))
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 204)
            #expect(mine.hasEnded && mine.text.contains("token_revoked"))
            #expect(mine.text.contains(#""reason":"token_revoked","retry":1000"#), "it hears of the 401 soon")
            try await api.advance(5000, on: loop)
            #expect(!theirs.hasEnded && theirs.text.contains("\n:"))
        }
    }

    @Test func `a long poll ends with its token, and a token may end itself`() async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("admin", on: loop)
            let poll = try await api.open("GET", "/v1/events?poll=60&types=reset", bearer, on: loop)
            #expect(!poll.hasEnded)
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", bearer, on: loop).status == 204)
            #expect(poll.answer?.status == 401)
        }
    }

    @Test func `an expired token ends, and so do its streams`() async throws {
        try await withAPI { api, loop in
            let bearer = try await api.token("read", more: #","expiresInSeconds":2"#, on: loop).bearer
            let stream = try await api.open("GET", "/v1/events", bearer, on: loop)
            try await api.advance(2100, on: loop)
            #expect(stream.hasEnded && stream.text.contains("token_expired"))
            #expect(try await api.get("/v1/status", bearer, on: loop).status == 401)
        }
    }

    @Test func `a device is paired by its code and gets its token once`() async throws {
        try await withAPI { api, loop in
            let applied = try await api.post(
                "/v1/pairing",
                Field.json + Field.forwarded,
                #"{"name":"kitchen","scopes":["read","send"]}"#,
                on: loop
            )
            #expect(applied.status == 202, "\(applied)")
            let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
            #expect(try await api.get("/v1/pairing/\(id)", Field.forwarded, on: loop)["status"] == "pending")
            #expect(try await api.get("/v1/pairing", Field.forwarded, on: loop).status == 401)
            #expect(try await api.get("/v1/pairing", on: loop).body.contains(code))
            let body = #"{"code":"\#(code)","scopes":["read"]}"#
            #expect(
                try await api.post("/v1/pairing/approve", Field.json + Field.forwarded, body, on: loop).status == 401
            )
            #expect(try await api.post("/v1/pairing/approve", Field.json, body, on: loop).status == 200)
            #expect(try await api.post("/v1/pairing/approve", Field.json, body, on: loop).status == 409)
            let collected = try await api.get("/v1/pairing/\(id)", Field.forwarded, on: loop)
            let bearer = ["Authorization: Bearer \(try #require(collected["token"]))"]
            #expect(try await api.get("/v1/pairing/\(id)", Field.forwarded, on: loop)["status"] == "delivered")
            #expect(try await api.get("/v1/status", bearer + Field.forwarded, on: loop).status == 200)
            #expect(try await api.get("/v1/tokens", bearer, on: loop).status == 403)
            #expect(try await api.get("/v1/pairing/nonsense", Field.forwarded, on: loop).status == 404)
        }
    }

    @Test func `a ticket bought with a secret is void once that secret is replaced`() async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("read", on: loop)
            let bought = try await api.post("/v1/tickets", bearer + Field.json, #"{"path":"/v1/events"}"#, on: loop)
            let ticket = try #require(bought["ticket"])
            #expect(try await api.post("/v1/tokens/\(id)/rotate", Field.json, "{}", on: loop).status == 200)
            let used = try await api.get("/v1/events?ticket=\(ticket)&poll=0", Field.forwarded, on: loop)
            #expect(used.status == 401)
        }
    }

    @Test func `tickets are so many a minute, however fast they are used`() async throws {
        try await withAPI { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            var statuses: [Int] = []
            for _ in 0..<70 {
                let bought = try await api.post("/v1/tickets", bearer + Field.json, #"{"path":"/v1/events"}"#, on: loop)
                statuses.append(bought.status)
                guard let ticket = bought["ticket"] else { continue }
                #expect(
                    try await api.get("/v1/events?ticket=\(ticket)&poll=0", Field.forwarded, on: loop).status == 200
                )
            }
            #expect(statuses == Array(repeating: 201, count: 64) + Array(repeating: 429, count: 6))
        }
    }

    @Test func `a token that is rotated under a waiting poll gets its place for streams back`() async throws {
        try await withAPI(.init(streams: StreamSlots(perCaller: 1))) { api, loop in
            let token = try await api.token("read", on: loop)
            var bearer = token.bearer
            for _ in 0..<3 {
                let poll = try await api.open("GET", "/v1/events?poll=60&types=reset", bearer, on: loop)
                #expect(!poll.hasEnded)
                let rotated = try await api.post("/v1/tokens/\(token.id)/rotate", Field.json, "{}", on: loop)
                bearer = ["Authorization: Bearer \(try #require(rotated["token"]))"]
                #expect(poll.answer?.status == 401)
            }
        }
    }

    @Test(arguments: [("DELETE", ""), ("POST", "/rotate")])
    func `a body that was on its way when its token ended changes nothing`(method: String, path: String) async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("send", on: loop)
            let fields = bearer + Field.json
            let body = #"{"text":"too late"}"#
            let late = try await api.open("POST", "/v1/messages", fields, body: body, isWhole: false, on: loop)
            let end = try await api.request(method, "/v1/tokens/\(id)\(path)", Field.json, body: "{}", on: loop)
            #expect(end.status < 300)
            late.endBody(on: loop)
            #expect(late.answer?.status == 401)
            #expect(try await !api.get("/v1/outbox", on: loop).body.contains("too late"))
        }
    }

    @Test(arguments: [false, true])
    func `a request whose end came after its token's, without a body, is refused`(isByTicket: Bool) async throws {
        try await withAPI { api, loop in
            let (id, _, bearer) = try await api.token("read", on: loop)
            let wish = #"{"path":"/v1/outbox"}"#
            let bought = try await api.post("/v1/tickets", bearer + Field.json, wish, on: loop)
            let ticket = try #require(bought["ticket"])
            let late = try await api.open(
                "GET",
                isByTicket ? "/v1/outbox?ticket=\(ticket)" : "/v1/outbox",
                isByTicket ? Field.forwarded : bearer,
                isWhole: false,
                on: loop
            )
            #expect(try await api.request("DELETE", "/v1/tokens/\(id)", on: loop).status == 204)
            late.endBody(on: loop)
            #expect(late.answer?.status == 401)
        }
    }

    @Test func `looking at an approved application without room for the token does not use it up`() async throws {
        try await withAPI { api, loop in
            let body = #"{"name":"kitchen","scopes":["read"]}"#
            let applied = try await api.post("/v1/pairing", Field.json, body, on: loop)
            let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
            #expect(
                try await api.post("/v1/pairing/approve", Field.json, #"{"code":"\#(code)"}"#, on: loop).status == 200
            )
            #expect(try await api.request("HEAD", "/v1/pairing/\(id)", Field.forwarded, on: loop).status == 200)
            #expect(try await api.get("/v1/pairing/\(id)", Field.forwarded, on: loop)["token"] != nil)
        }
    }

    @Test func `a time wins over a duration, and both must be right`() async throws {
        try await withAPI { api, loop in
            for (seconds, status) in [("60", 201), ("0", 422), ("3155760001", 422), ("\"1h\"", 422)] {
                let body =
                    #"{"name":"x","scopes":["read"],"expiresInSeconds":\#(seconds),"expiresAt":"2099-01-01T00:00:00Z"}"#
                let answer = try await api.post("/v1/tokens", Field.json, body, on: loop)
                #expect(answer.status == status, "\(seconds): \(answer)")
                if status == 201 { #expect(answer["expiresAt"] == "2099-01-01T00:00:00.000Z") }
            }
        }
    }

    @Test func `a token with scope admin cannot seem to be limited to sessions`() async throws {
        try await withAPI { api, loop in
            let body = #"{"name":"x","scopes":["admin"],"sessions":["main"]}"#
            let answer = try await api.post("/v1/tokens", Field.json, body, on: loop)
            #expect(answer.status == 422, "\(answer)")
        }
    }

    @Test(arguments: [
        (#"[]"#, "paths"), (#"["glance"]"#, "paths"), (#"["/"]"#, "paths"), (#"["/v1/"]"#, "paths"),
        (#"["//v1"]"#, "paths"),
        (#"["/v1/../v1"]"#, "paths"), (#"["/v1/%2e%2E"]"#, "paths"), (#"["/v1/runs?x"]"#, "paths"),
        (#"["/v1/x y"]"#, "paths"),
        (#"["/v1/nothing"]"#, "paths"), (#"["/v1/runs/a/b"]"#, "paths"), (#"[1]"#, "paths"), (#""/v1/runs""#, "paths"),
        (#"["/v1/runs/%00"]"#, "paths"), (#"["/v1/runs/%FF"]"#, "paths"), (#"["/v1/runs/%2"]"#, "paths"),
        (#"["/v1/runs"],"scopes":["admin"]"#, "paths"),
    ])
    func `paths that mean nothing are refused`(paths: String, field: String) async throws {
        try await withAPI { api, loop in
            let scopes = paths.contains("scopes") ? "" : #","scopes":["read"]"#
            for path in ["/v1/tokens", "/v1/pairing"] {
                let body = #"{"name":"x","paths":\#(paths)\#(scopes)}"#
                let answer = try await api.post(path, Field.json, body, on: loop)
                #expect(answer.status == 422, "\(answer)")
                #expect(answer["field"] == field, "\(answer)")
            }
        }
    }

    @Test func `a token of few paths opens these and what is below, and learns nothing of others`() async throws {
        try await withAPI(.demo) { api, loop in
            let paths = #","paths":["/v1/activity","/v1/runs"]"#
            let (id, _, bearer) = try await api.token("read", "send", more: paths, on: loop)
            let list = try await api.get("/v1/tokens", on: loop).json["tokens"]
            let shown = list?.elements.first { $0["id"]?.string == id }
            #expect(shown?["paths"]?.elements.map(\.string) == ["/v1/activity", "/v1/runs"])
            for path in ["/v1/activity", "/v1/activity?x=/v1/status", "/v1/runs", "/v1/runs?active=true"] {
                #expect(try await api.get(path, bearer, on: loop).status == 200, "\(path)")
            }
            #expect(try await api.get("/v1/runs/x", bearer, on: loop).status == 404)
            #expect(try await api.post("/v1/runs/x/abort", bearer + Field.json, "{}", on: loop).status == 404)
            #expect(try await api.request("PUT", "/v1/runs", bearer, on: loop).status == 405)
            let others = [
                "/v1/status", "/readyz", "/metrics", "/openapi.json", "/openapi.yaml", "/v1/runsx", "/v1/run", "/v1",
                "/", "//v1/runs",
                "/v1//runs", "/v1/runs/", "/v1/runs//x", "/v1/runs/../status", "/v1/runs/%2e%2e/status", "/v1/runs/.",
                "/v1/runs/..",
                "/v1/runs/.%2E", "/v1%2Fruns", "/v1%2fruns/x", "/v1/runs%2Fx", "/v1/runs%2f..%2fstatus", "/v1/nothing",
                "/V1/runs",
                "/v1/runs%00", "/v1/runs/%FF", "/v1/runs;/../status", "/v1/status?/v1/runs", "/v1/./runs",
            ]
            for path in others {
                let answer = try await api.get(path, bearer, on: loop)
                #expect(answer.status == 403 && answer["code"] == "PATH_NOT_ALLOWED", "\(path): \(answer)")
                #expect(answer["detail"]?.contains("/v1/activity, /v1/runs") == true)
            }
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                #expect(try await api.request(method, "/v1/tokens", bearer, on: loop).status == 403, "\(method)")
            }
            #expect(try await api.get("/healthz", bearer, on: loop).status == 200)
        }
    }

    @Test func `the paths of a token are those of its tickets, and stay when it is renewed`() async throws {
        try await withAPI(.demo) { api, loop in
            let bare = try await api.token("read", more: #","paths":["/v1/events"]"#, on: loop).bearer
            let wish = #"{"path":"/v1/events"}"#
            #expect(try await api.post("/v1/tickets", bare + Field.json, wish, on: loop)["code"] == "PATH_NOT_ALLOWED")
            let more = #","paths":["/v1/events","/v1/tickets"]"#
            let (id, _, bearer) = try await api.token("read", more: more, on: loop)
            #expect(try await api.post("/v1/tickets", bearer + Field.json, wish, on: loop).status == 201)
            for path in ["/v1/runs", "/v1/runs/x", "/metrics"] {
                let refused = try await api.post("/v1/tickets", bearer + Field.json, #"{"path":"\#(path)"}"#, on: loop)
                #expect(refused.status == 403 && refused["code"] == "PATH_NOT_ALLOWED", "\(refused)")
            }
            let renewed = try await api.post("/v1/tokens/\(id)/rotate", Field.json, "{}", on: loop)
            #expect(renewed.json["paths"]?.count == 2)
            let fresh = ["Authorization: Bearer \(try #require(renewed["token"]))"]
            #expect(try await api.get("/v1/status", fresh, on: loop).status == 403)
        }
    }

    @Test func `a device that asks for paths gets these or fewer`() async throws {
        try await withAPI { api, loop in
            let wish = #"{"name":"clock","scopes":["read"],"paths":["/v1/runs"]}"#
            let asked = try await api.post("/v1/pairing", Field.json, wish, on: loop)
            let code = try #require(asked["code"])
            #expect(try await api.get("/v1/pairing", on: loop).json["requests"]?[0]?["paths"]?.count == 1)
            let wide = #"{"code":"\#(code)","paths":["/v1"]}"#
            #expect(try await api.post("/v1/pairing/approve", Field.json, wide, on: loop)["field"] == "paths")
            let narrow = #"{"code":"\#(code)","paths":["/v1/runs/x"]}"#
            #expect(try await api.post("/v1/pairing/approve", Field.json, narrow, on: loop).status == 200)
            let token = try await api.get("/v1/pairing/\(try #require(asked["id"]))", Field.forwarded, on: loop)
            #expect(token.json["paths"]?.elements.map(\.string) == ["/v1/runs/x"])
            let bearer = ["Authorization: Bearer \(try #require(token["token"]))"]
            #expect(try await api.get("/v1/runs", bearer, on: loop).status == 403)
            #expect(try await api.get("/v1/runs/x", bearer, on: loop).status == 404)
        }
    }

    @Test func `applications and wrong credentials are throttled, a correct one never`() async throws {
        let limits: [RateLimitKind: RateLimitPolicy] = [.auth: .perMinute(3), .pairing: .perMinute(2)]
        try await withAPI(.init(limits: limits)) { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            var statuses: [Int] = []
            for _ in 0..<6 {
                let answer = try await api.guess("ldl_wrong", on: loop)
                statuses.append(answer.status)
                guard answer.status == 429 else { continue }
                #expect(answer.field("Retry-After") != nil)
                #expect(answer.field("RateLimit-Policy")?.contains("auth") == true)
            }
            #expect(statuses == [401, 401, 401, 429, 429, 429])
            #expect(try await api.get("/v1/status", bearer, on: loop).status == 200)
            var applied: [Int] = []
            for _ in 0..<3 {
                let body = #"{"name":"a","scopes":["read"]}"#
                applied.append(try await api.post("/v1/pairing", Field.json, body, on: loop).status)
            }
            #expect(applied == [202, 202, 429])
        }
    }

    @Test func `a ticket opens one stream once`() async throws {
        try await withAPI { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            let bought = try await api.post("/v1/tickets", bearer + Field.json, #"{"path":"/v1/events"}"#, on: loop)
            #expect(bought.status == 201, "\(bought)")
            let ticket = try #require(bought["ticket"])
            let stream = try await api.open("GET", "/v1/events?ticket=\(ticket)", Field.forwarded, on: loop)
            #expect(stream.answer?.status == 200 && stream.text.contains("event: hello"))
            #expect(try await api.get("/v1/events?ticket=\(ticket)", Field.forwarded, on: loop).status == 401)
            let admin = try await api.post("/v1/tickets", Field.json, #"{"path":"/v1/tokens"}"#, on: loop)
            #expect(admin.status == 422)
        }
    }
}
