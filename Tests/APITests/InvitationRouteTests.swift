import Access
import EventLoops
import JSONBytes
import TestSupport
import Testing

@testable import API

/// `/v1/pairing/invitations` and their use by a device.
struct InvitationRouteTests {
    private static let path = "/v1/pairing/invitations"

    private static func invite(
        _ api: APIBench,
        on loop: isolated EventLoop
    ) async throws -> (id: String, secret: String) {
        let made = try await api.post(path, Field.json, #"{"name":"phone"}"#, on: loop)
        #expect(made.status == 201, "\(made)")
        return (try #require(made["id"]), try #require(made["secret"]))
    }

    private static func redeem(_ secret: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> Answer {
        try await api.post("/v1/pairing", Field.json, #"{"secret":"\#(secret)"}"#, on: loop)
    }

    @Test func `a secret gives a token at once, with what the host chose, once`() async throws {
        try await withAPI { api, loop in
            let made = try await Self.invite(api, on: loop)
            let body = #"{"secret":"\#(made.secret)","name":"root","scopes":["admin"]}"#
            let device = try await api.post("/v1/pairing", Field.json + Field.forwarded, body, on: loop)
            #expect(device.status == 201, "\(device)")
            #expect(device["name"] == "phone" && device.body.contains(#""scopes":["read","send"]"#))
            #expect(device.field("Cache-Control") == "no-store")
            let bearer = ["Authorization: Bearer \(try #require(device["token"]))"]
            #expect(try await api.get("/v1/status", bearer + Field.forwarded, on: loop).status == 200)
            #expect(try await api.get("/v1/tokens", bearer + Field.forwarded, on: loop).status == 403)
            let again = try await api.post("/v1/pairing", Field.json + Field.forwarded, body, on: loop)
            #expect(again.status == 410 && again["code"] == "PAIRING_OVER", "\(again)")
            #expect(again["detail"]?.contains("has been used") == true && again["hint"] == "on the host: ladle pair")
            let shown = try await api.get("\(Self.path)/\(made.id)", on: loop)
            #expect(shown["state"] == "used" && shown["tokenId"] == device["id"] && shown["secret"] == nil)
            #expect(try await api.request("DELETE", "\(Self.path)/\(made.id)", on: loop).status == 409)
        }
    }

    @Test func `only admin invites, and more than reading and sending is named`() async throws {
        try await withAPI { api, loop in
            let (_, _, bearer) = try await api.token("read", "send", "control", "approvals", on: loop)
            for (method, path) in [("POST", Self.path), ("GET", Self.path + "/x"), ("DELETE", Self.path + "/x")] {
                let body = method == "POST" ? #"{"name":"x"}"# : ""
                let answer = try await api.request(method, path, bearer + Field.json, body: body, on: loop)
                #expect(answer.status == 403, "\(method) \(answer)")
            }
            let strong = try await api.post(Self.path, Field.json, #"{"name":"x","scopes":["admin"]}"#, on: loop)
            #expect(strong.status == 201 && strong.body.contains(#""scopes":["admin"]"#))
            for (wrong, field) in [
                ("{}", "name"), (#"{"name":""}"#, "name"), (#"{"name":"a\u202eb"}"#, "name"),
                (#"{"name":"x","scopes":[]}"#, "scopes"), (#"{"name":"x","scopes":["all"]}"#, "scopes"),
                (#"{"name":"x","sessions":[]}"#, "sessions"),
            ] {
                let answer = try await api.post(Self.path, Field.json, wrong, on: loop)
                #expect(answer.status == 422 && answer["field"] == field, "\(wrong) \(answer)")
            }
            #expect(try await api.get(Self.path + "/x", on: loop).status == 404)
        }
    }

    @Test func `every wrong secret gets the same answer, counts as an application, and never locks out a right one`()
        async throws
    {
        try await withAPI { api, loop in
            let made = try await Self.invite(api, on: loop)
            var answers: Set<String> = []
            let near = String(made.secret.dropLast()) + (made.secret.hasSuffix("2") ? "3" : "2")
            for wrong in ["x", "", near, String(repeating: "2", count: 28), "ldp_x"] {
                let body = #"{"secret":"\#(wrong)"}"#
                let answer = try await api.post("/v1/pairing", Field.json + Field.forwarded, body, on: loop)
                #expect(answer.status == 404, "\(answer)")
                answers.insert("\(answer["code"] ?? "") \(answer["detail"] ?? "") \(answer["hint"] ?? "")")
            }
            #expect(answers == ["UNKNOWN_PAIRING No invitation has this secret. on the host: ladle pair"])
            let one = try await api.post("/v1/pairing", Field.json + Field.forwarded, #"{"secret":"y"}"#, on: loop)
            #expect(one.status == 429 && one["code"] == "RATE_LIMITED", "\(one)")
            let apply = #"{"name":"x","scopes":["read"]}"#
            #expect(try await api.post("/v1/pairing", Field.json + Field.forwarded, apply, on: loop).status == 429)
            let good = #"{"secret":"\#(made.secret)"}"#
            #expect(try await api.post("/v1/pairing", Field.json + Field.forwarded, good, on: loop).status == 201)
            let text = try await api.post("/v1/pairing", Field.json, #"{"secret":7}"#, on: loop)
            #expect(text.status == 422 && text["field"] == "secret", "\(text)")
        }
    }

    @Test func `cancelled and expired are gone, and a restart forgets`() async throws {
        try await withAPI { api, loop in
            let first = try await Self.invite(api, on: loop)
            #expect(try await api.request("DELETE", "\(Self.path)/\(first.id)", on: loop).status == 204)
            #expect(try await Self.redeem(first.secret, api, on: loop)["detail"]?.contains("cancelled") == true)
            let third = try await Self.invite(api, on: loop)
            try await api.restart(on: loop)
            #expect(try await Self.redeem(third.secret, api, on: loop).status == 404)
            let fourth = try await Self.invite(api, on: loop)
            try await api.advance(300_000, on: loop)
            let late = try await Self.redeem(fourth.secret, api, on: loop)
            #expect(late.status == 410 && late["detail"]?.contains("five minutes") == true, "\(late)")
            #expect(try await api.get("\(Self.path)/\(fourth.id)", on: loop)["state"] == "expired")
        }
    }

    @Test func `an application is told to those who decide, and to them alone`() async throws {
        try await withAPI { api, loop in
            let (_, _, reader) = try await api.token("read", "send", on: loop)
            let mine = try await api.open("GET", "/v1/events?types=pairing", on: loop)
            let theirs = try await api.open("GET", "/v1/events?types=pairing", reader, on: loop)
            let body = #"{"name":"tablet","scopes":["read"]}"#
            let asked = try await api.post("/v1/pairing", Field.json + Field.forwarded, body, on: loop)
            let code = try #require(asked["code"])
            #expect(mine.text.contains(#""state":"waiting""#) && mine.text.contains(code))
            #expect(!theirs.text.contains(code))
            _ = try await api.post("/v1/pairing/reject", Field.json, #"{"code":"\#(code)"}"#, on: loop)
            #expect(mine.text.contains(#""state":"rejected""#))
            let told = try await api.get("/v1/notifications", on: loop)
            #expect(told.body.contains("pairing.requested") && told.body.contains("ladle clients approve \(code)"))
        }
    }

    @Test func `a flood of applications tells people of few`() async throws {
        try await withAPI(APIBench.Setup(limits: [.pairing: .perMinute(100_000)])) { api, loop in
            for number in 0..<40 {
                let body = #"{"name":"t\#(number % 4)","scopes":["read"]}"#
                _ = try await api.post("/v1/pairing", Field.json, body, on: loop)
            }
            let told = try await api.get("/v1/notifications?limit=100", on: loop).body
            #expect(told.split(separator: #""type":"pairing.requested""#).count == 6)
        }
    }
}
