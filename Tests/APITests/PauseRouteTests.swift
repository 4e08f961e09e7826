import Basics
import DemoGateway
import EventLoops
import JSONBytes
import Observability
import TestSupport
import Testing

/// The answers while the gateway takes nothing for a while: it starts, is suspended, or drains before a restart.
struct PauseRouteTests {
    private static let october = APIBench.Setup(demo: { $0.release = .october })
    private static let words = "Connected, but the gateway is still starting."

    private func pause(_ api: APIBench, until: Timestamp? = nil) throws {
        let demo = try #require(api.demo)
        let model = try #require(demo.gateway.core as? DemoGatewayModel)
        demo.gateway.take(model.pause(.draining, now: demo.gateway.now))
        (api.gateway.status.state, api.gateway.status.detail) = (.paused, Self.words)
        api.gateway.status.until = until
    }

    @Test func `readiness tells of a pause with its reason and its end, and does not depend on it`() async throws {
        try await withAPI(Self.october) { api, loop in
            api.gateway.status.state = .online
            let online = try await api.get("/readyz", on: loop)
            #expect(online.status == 200 && online.body == #"{"status":"ready","gateway":{"state":"online"}}"# + "\n")
            let until = try #require(Timestamp(rfc3339: "2026-11-21T09:09:57.431Z"))
            for end in [nil, until] {
                try pause(api, until: end)
                let paused = try await api.get("/readyz", on: loop)
                let more = end == nil ? "" : #","until":"2026-11-21T09:09:57.431Z""#
                let gateway = #"{"state":"paused","reason":"\#(Self.words)"\#(more)}"#
                #expect(paused.status == 200 && paused.body == #"{"status":"ready","gateway":\#(gateway)}"# + "\n")
            }
        }
    }

    /// The gateway's own words are not for everybody.
    @Test func `a caller limited to sessions learns of the pause alone`() async throws {
        try await withAPI(Self.october) { api, loop in
            let guest = try await api.token("read", more: #","sessions":["main"]"#, on: loop)
            try pause(api)
            api.gateway.status.detail = "wss://secret.example"
            let answer = try await api.get("/readyz", guest.bearer, from: .user(7), on: loop)
            #expect(answer.json["gateway"]?["state"]?.string == "paused", "\(answer)")
            #expect(!answer.body.contains("secret.example"))
        }
    }

    private func read(_ path: String, _ api: APIBench, on loop: isolated EventLoop) async throws -> Answer {
        let request = try await api.open("GET", path, on: loop)
        if !request.hasEnded { try await api.advance(10_000, on: loop) }
        return try #require(request.answer)
    }

    private static let reads = [
        "/v1/sessions?refresh=true", "/v1/agents?refresh=true", "/v1/automations", "/v1/nodes", "/v1/models",
        "/v1/usage", "/v1/usage/cost", "/v1/usage/sessions", "/v1/messages?session=main",
    ]

    @Test(arguments: reads)
    func `a read during a pause comes from memory, with its age`(path: String) async throws {
        try await withAPI(Self.october) { api, loop in
            try await api.say("hello", "?wait=20", on: loop)
            let before = try await read(path, api, on: loop)
            #expect(before.status == 200 && before.json["live"]?.bool != false, "\(before)")
            try pause(api)
            try await api.advance(3_600_000, on: loop)
            let answer = try await read(path, api, on: loop)
            let isOld = answer.json["live"]?.bool == false || answer.json["stale"]?.bool == true
            #expect(answer.status == 200 && isOld, "\(answer)")
            let age = answer.json["asOf"]?.string.flatMap { Timestamp(rfc3339: $0) }
            #expect(try #require(age) < loop.wallClock.adding(milliseconds: -3_000_000), "\(answer.body)")
        }
    }

    @Test(arguments: ["/v1/models", "/v1/usage", "/v1/usage/cost", "/v1/usage/sessions"])
    func `a read during a pause of which nothing is known says when to ask again`(path: String) async throws {
        try await withAPI(Self.october) { api, loop in
            try pause(api)
            let answer = try await read(path, api, on: loop)
            #expect(answer.status == 503 && answer["code"] == "GATEWAY_UNAVAILABLE", "\(answer)")
            #expect(answer.field("retry-after") == "1")
        }
    }
}
