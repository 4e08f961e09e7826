import Access
import DemoGateway
import EventLoops
import Gateway
import HTTPModel
import JSONBytes
import Service
import TestSupport
import Testing

@testable import API

/// Models and usage over HTTP: who sees them, in which form, and the form of each refusal.
struct UsageRouteTests {
    private static let zones = APIBench.Setup(services: { settings in
        settings.timeZones = { name, completion in
            completion(
                FuzzInput.all(of: "TimeZone").first { $0.name.hasSuffix("/\(name.split(separator: "/").last ?? "")") }?
                    .bytes
            )
        }
        settings.utcOffset = { _ in 3_600 }
    })

    private func open(_ api: APIBench, on loop: isolated EventLoop) async throws {
        api.gateway.next(
            "usage.status",
            ok(
                #"{"providers":[{"provider":"anthropic","displayName":"Claude","windows":[{"label":"5h","usedPercent":42,"resetAt":1795005000000},{"label":"Week","usedPercent":63}]}]}"#
            )
        )
        api.gateway.responder = { request in
            switch request.method {
            case "usage.cost":
                .now(ok(#"{"daily":[{"date":"2026-11-18","totalTokens":15,"totalCost":0.5,"missingCostEntries":0}]}"#))
            case "sessions.usage":
                .now(
                    ok(
                        #"{"sessions":[{"key":"\#(request["key"] ?? "agent:main:main")","usage":{"totalTokens":7,"totalCost":0,"missingCostEntries":1,"sessionFile":"/home/x"}}]}"#
                    )
                )
            default: nil
            }
        }
        try await api.bench.open(methods: ["usage.status", "usage.cost", "models.list"], on: loop)
    }

    @Test func `usage is an object, a line of text, and unmodified while nothing changes`() async throws {
        try await withAPI(Self.zones) { api, loop in
            try await open(api, on: loop)
            let usage = try await api.get("/v1/usage", on: loop)
            #expect(usage.status == 200, "\(usage)")
            #expect(usage.json["providers"]?[0]?["id"]?.string == "anthropic")
            #expect(usage.json["today"]?["date"]?.string == "2026-11-18")
            let tag = try #require(usage.field("ETag"))
            try await api.advance(5_000, on: loop)
            #expect(try await api.get("/v1/usage", ["If-None-Match: \(tag)"], on: loop).status == 304)
            let text = try await api.get("/v1/usage", ["Accept: text/plain"], on: loop)
            #expect(text.body == "anthropic 5h 42% (resets 13:30)  Week 63%\n")
        }
    }

    @Test func `a malformed day is 400, a day or zone that is not allowed 422`() async throws {
        try await withAPI(Self.zones) { api, loop in
            try await open(api, on: loop)
            for (query, field, status, code) in [
                ("from=yesterday", "from", 400, "BAD_PARAMETER"), ("to=2026-02-30", "to", 400, "BAD_PARAMETER"),
                ("from=", "from", 400, "BAD_PARAMETER"), ("to=1969-12-31", "to", 422, "INVALID_FIELD"),
                ("from=2026-11-24&to=2026-11-23", "from", 422, "INVALID_FIELD"),
                ("from=2025-11-22&to=2026-11-23", "from", 422, "INVALID_FIELD"),
                ("tz=Mars/Olympus", "tz", 422, "INVALID_FIELD"), ("tz=../../etc/passwd", "tz", 422, "INVALID_FIELD"),
                ("tz=", "tz", 422, "INVALID_FIELD"),
            ] {
                let answer = try await api.get("/v1/usage/cost?\(query)", on: loop)
                #expect(answer.status == status && answer["code"] == code, "\(query) \(answer)")
                #expect(answer["field"] == field, "\(query)")
            }
            #expect(try await api.get("/v1/usage/sessions?to=2026-02-30", on: loop)["code"] == "BAD_PARAMETER")
            let year = try await api.get("/v1/usage/cost?from=2025-11-23&to=2026-11-23", on: loop)
            #expect(year.status == 200, "\(year)")
            #expect(year["utcOffset"] == "+01:00")
            #expect(year.json["tzApprox"]?.bool == false)
            #expect(year.json["totals"]?["tokens"]?.int == 15)
            let summer = try await api.get("/v1/usage/cost?from=2026-03-01&to=2026-04-01&tz=Europe/Berlin", on: loop)
            #expect(summer["tz"] == "Europe/Berlin" && summer["utcOffset"] == "+02:00")
            #expect(summer.json["tzApprox"]?.bool == true)
            #expect(api.gateway.requests("usage.cost").last?["utcOffset"] == "UTC+2")
        }
    }

    @Test func `a token limited to sessions gets its own, and nothing of all`() async throws {
        try await withAPI(Self.zones) { api, loop in
            try await open(api, on: loop)
            let bound = try await api.token("read", more: #","sessions":["agent:main:kitchen"]"#, on: loop)
            for path in ["/v1/usage", "/v1/usage/cost", "/v1/usage/cost?agent=main"] {
                let answer = try await api.get(path, bound.bearer, on: loop)
                #expect(answer.status == 403)
                #expect(answer["code"] == "SESSION_NOT_ALLOWED")
            }
            let own = try await api.get("/v1/usage/sessions", bound.bearer, on: loop)
            #expect(own.status == 200, "\(own)")
            #expect(own.json["sessions"]?.elements.map { $0["key"]?.string } == ["agent:main:kitchen"])
            #expect(own.json["totals"]?["tokens"]?.int == 7)
            // Without a known price the answer has no cost.
            #expect(own.json["totals"]?["costUsd"] == nil)
            #expect(own.json["totals"]?["costIsLowerBound"]?.bool == true)
            #expect(!own.body.contains("/home/"))
            #expect(api.gateway.requests("sessions.usage").map { $0["key"] } == ["agent:main:kitchen"])
            let all = try await api.get("/v1/usage/sessions?limit=5&from=2026-11-18", on: loop)
            #expect(all.json["sessions"]?[0]?["key"]?.string == "agent:main:main")
            #expect(try await api.get("/v1/usage/sessions?limit=1001", on: loop).status == 400)
        }
    }

    @Test func `an event goes to those who may see all`() async throws {
        try await withAPI(Self.zones) { api, loop in
            try await open(api, on: loop)
            let bound = try await api.token("read", more: #","sessions":["agent:main:kitchen"]"#, on: loop)
            let own = try await api.open("GET", "/v1/events?types=usage", Field.stream + bound.bearer, on: loop)
            #expect(api.gateway.requests("usage.status").isEmpty)
            let all = try await api.open("GET", "/v1/events?types=usage", Field.stream, on: loop)
            #expect(api.gateway.requests("usage.status").count == 1)
            api.gateway.next(
                "usage.status",
                ok(#"{"providers":[{"provider":"anthropic","windows":[{"label":"5h","usedPercent":51}]}]}"#)
            )
            // While the event is followed, the gateway is asked again without a request.
            try await api.advance(300_000, on: loop)
            #expect(all.text.contains("event: usage\n"))
            #expect(all.text.contains(#""window":"5h","usedPercent":51"#))
            #expect(!own.text.contains("anthropic"))
            let asked = api.gateway.requests("usage.status").count
            all.leave(on: loop)
            try await api.advance(3_600_000, on: loop)
            #expect(api.gateway.requests("usage.status").count == asked)
            own.leave(on: loop)
        }
    }

    @Test func `a stream of everything asks for nothing`() async throws {
        try await withAPI(Self.zones) { api, loop in
            try await open(api, on: loop)
            let stream = try await api.open("GET", "/v1/events", Field.stream, on: loop)
            try await api.advance(3_600_000, on: loop)
            #expect(api.gateway.requests("usage.status").isEmpty)
            stream.leave(on: loop)
        }
    }

    @Test func `a gateway that cannot do it is named, and no scope is asked for`() async throws {
        try await withAPI { api, loop in
            try await api.bench.open(version: 3, methods: ["chat.send"], on: loop)
            for path in ["/v1/models", "/v1/usage", "/v1/usage/cost", "/v1/usage/sessions"] {
                let answer = try await api.get(path, on: loop)
                #expect(answer.status == 501, "\(path)")
                #expect(answer["code"] == "GATEWAY_UNSUPPORTED" && answer["capability"] != nil)
            }
            try await api.bench.open(version: 3, methods: ["usage.cost"], on: loop)
            #expect(try await api.get("/v1/usage/cost?agent=main", on: loop).status == 501)
        }
    }

    @Test func `an answer that was asked for before a change is given to nobody after it`() async throws {
        try await withAPI { api, loop in
            try await open(api, on: loop)
            api.gateway.silent = ["models.list"]
            let first = try await api.open("GET", "/v1/models", on: loop)
            try await api.bench.event("config.changed", "{}", on: loop)
            api.gateway.answer("models.list", ok(#"{"models":[]}"#))
            try await api.bench.settle(on: loop)
            #expect(first.status == 200)
            api.gateway.silent = []
            let asked = api.gateway.requests("models.list").count
            try await api.get("/v1/models", on: loop)
            #expect(api.gateway.requests("models.list").count == asked + 1)
        }
    }

    @Test func `models are a list with a tag`() async throws {
        try await withAPI { api, loop in
            #expect(try await api.get("/v1/models", on: loop).status == 503)
            try await open(api, on: loop)
            api.gateway.next("models.list", ok(#"{"models":[{"id":"m","name":"M","provider":"p","alias":"x"}]}"#))
            let list = try await api.get("/v1/models?view=all", on: loop)
            #expect(list.status == 200, "\(list)")
            #expect(list.json["models"]?[0]?["id"]?.string == "p/m")
            #expect(list.json["live"]?.bool == true)
            let tag = try #require(list.field("ETag"))
            #expect(try await api.get("/v1/models?view=all", ["If-None-Match: \(tag)"], on: loop).status == 304)
            let wrong = try await api.get("/v1/models?view=configure", on: loop)
            #expect(wrong.status == 400)
            #expect(wrong["detail"]?.contains("Did you mean configured?") == true)
        }
    }

    @Test(arguments: DemoRelease.allCases)
    func `every demo gateway tells of models and usage`(_ release: DemoRelease) async throws {
        try await withAPI(APIBench.Setup(demo: { $0.release = release })) { api, loop in
            try await api.say("echo one", on: loop)
            try await api.advance(20_000, on: loop)
            let models = try await api.get("/v1/models?view=all", on: loop)
            #expect(models.json["models"]?.elements.map { $0["id"]?.string }.first == "demo/demo-1", "\(models)")
            #expect(models.json["models"]?[0]?["default"]?.bool == true)
            let usage = try await api.get("/v1/usage", on: loop)
            #expect(usage.json["providers"]?[0]?["windows"]?[0]?["usedPercent"]?.int == 43, "\(usage)")
            #expect(usage.json["providers"]?[1]?["error"]?.string == "HTTP 401")
            #expect(usage.json["today"]?["tokens"]?.int ?? 0 > 8_000)
            let cost = try await api.get("/v1/usage/cost", on: loop)
            #expect(cost.json["totals"]?["tokens"]?.int == usage.json["today"]?["tokens"]?.int, "\(cost)")
            let sessions = try await api.get("/v1/usage/sessions", on: loop)
            #expect(sessions.json["sessions"]?[0]?["key"]?.string == "agent:main:main", "\(sessions)")
            #expect(!sessions.body.contains("/home/"))
        }
    }
}
