import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import TestSupport
import Testing

struct AutomationRouteTests {
    private static let job = "7d3b2c9e-4f50-4182-8cb3-d4e5f6071823"
    private static let path = "/v1/automations/\(job)"

    private static func setup(_ release: DemoRelease) -> APIBench.Setup {
        APIBench.Setup(demo: { $0.release = release })
    }

    @Test(arguments: DemoRelease.allCases)
    func `a job is listed, run once for each key, and switched off`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let list = try await api.get("/v1/automations", on: loop)
            #expect(
                list.json["automations"]?.elements.map { $0["name"]?.string } == [
                    "Check the backup", "Look at the sensors", "Morning briefing",
                ]
            )
            #expect(list.json["live"]?.bool == true)
            #expect(!list.body.contains("demo-secret") || release < .june)
            let page = try await api.get("/v1/automations?limit=1", on: loop)
            let rest = try await api.get("/v1/automations?before=\(page["before"] ?? "")", on: loop)
            #expect(rest.json["automations"]?.count == 2 && rest.json["before"] == nil)

            #expect(try await api.post("\(Self.path)/run", [], on: loop)["code"] == "IDEMPOTENCY_KEY_REQUIRED")
            let key = ["Idempotency-Key: one"]
            let first = try await api.post("\(Self.path)/run", key, on: loop)
            #expect(first.status == 202 && first.json["automation"]?.string == Self.job, "\(first.body)")
            try await api.advance(200, on: loop)
            let again = try await api.post("\(Self.path)/run", key, on: loop)
            #expect(again.status == 202 && again.body == first.body)
            #expect(again.field("idempotency-replayed") == "true" && again.field("location") == first.field("location"))
            let other = try await api.post("/v1/automations/6c2a1b8d-3e4f-4071-9ba2-c3d4e5f60712/run", key, on: loop)
            #expect(other.status == 422 && other["code"] == "IDEMPOTENCY_KEY_REUSED")
            let runs = try await api.get("\(Self.path)/runs", on: loop)
            #expect(runs.json["runs"]?.count == 1, "\(runs.body)")
            #expect(runs.json["runs"]?[0]?["error"]?.string == "ENOENT: no such file or directory, open '…'")

            let got = try await api.get(Self.path, on: loop)
            #expect(got.json["failures"]?.int == 1 && got.json["last"]?["status"]?.string == "error")
            let tag = try #require(got.field("etag"))
            let patch = Field.json + ["If-Match: \(tag)"]
            let off = try await api.request("PATCH", Self.path, patch, body: #"{"enabled":false}"#, on: loop)
            #expect(off.status == 200 && off.json["enabled"]?.bool == false, "\(off.body)")
            #expect(off.json["nextRunAt"] == nil)
            let late = try await api.request("PATCH", Self.path, patch, body: #"{"enabled":true}"#, on: loop)
            #expect(late.status == 412 && late["code"] == "PRECONDITION_FAILED")
            let blind = try await api.request("PATCH", Self.path, Field.json, body: #"{"enabled":true}"#, on: loop)
            #expect(blind.status == 428)
        }
    }

    @Test func `a run can be waited for, where the gateway waits`() async throws {
        try await withAPI(Self.setup(.october)) { api, loop in
            let key = ["Idempotency-Key: wait"]
            let request = try await api.open("POST", "\(Self.path)/run?wait=60", key, on: loop)
            if !request.hasEnded { try await api.advance(1_000, on: loop) }
            let done = try #require(request.answer)
            #expect(done.status == 200, "\(done)")
            #expect(done.json["run"]?["status"]?.string == "error" && done.json["run"]?["summary"] == nil)
            #expect(done.json["runId"]?.string == done.json["run"]?["id"]?.string)
            #expect(!done.body.contains("/home/demo"))
            let again = try await api.post("\(Self.path)/run?wait=60", key, on: loop)
            #expect(again.status == 200 && again.body == done.body)
            #expect(api.gateway.requests("cron.run").map { $0.params["waitTimeoutMs"]?.int } == [60_000])
            for text in ["0", "601", "x", "-1"] {
                let wrong = try await api.post("\(Self.path)/run?wait=\(text)", ["Idempotency-Key: w"], on: loop)
                #expect(wrong.status == 400 && wrong["field"] == "wait")
            }
        }
        try await withAPI(.demo) { api, loop in
            let old = try await api.post("\(Self.path)/run?wait=5", ["Idempotency-Key: w"], on: loop)
            #expect(old.status == 501 && old["capability"] == "automations.wait", "\(old)")
            #expect(api.gateway.requests("cron.run").isEmpty)
            #expect(try await api.post("\(Self.path)/run", ["Idempotency-Key: w"], on: loop).status == 202)
        }
    }

    @Test func `a run that has not ended when the time is over is answered as begun`() async throws {
        try await withAPI { api, loop in
            let job =
                #"{"id":"j","name":"j","enabled":true,"schedule":{"kind":"every","everyMs":1},"payload":{},"state":{}}"#
            api.gateway.responder = { request in
                switch request.method {
                case "cron.list": .now(ok(#"{"jobs":[\#(job)]}"#))
                case "cron.run": .now(ok(#"{"ok":true,"enqueued":true,"runId":"r"}"#))
                default: nil
                }
            }
            let text =
                #"{"type":"hello-ok","protocol":4,"server":{"version":"2026.9.7","bootId":"b"},"#
                + #""features":{"methods":["cron.list","cron.run"]},"snapshot":{"uptimeMs":1}}"#
            try await api.bench.open(try #require(Hello(json(text), requested: [])), on: loop)
            let begun = try await api.post("/v1/automations/j/run?wait=1", ["Idempotency-Key: w"], on: loop)
            #expect(begun.status == 202 && begun["runId"] == "r" && begun.json["run"] == nil, "\(begun)")
        }
    }

    @Test func `a notification wakes nobody and runs no job`() async throws {
        try await withAPI(.demo) { api, loop in
            let echo = ["webhook-id: 01a1.hook", "Idempotency-Key: echo"]
            let run = try await api.post("\(Self.path)/run", echo, on: loop)
            #expect(run.status == 409 && run["code"] == "NOTIFICATION_LOOP")
            let wake = try await api.request("POST", "/v1/wake", Field.json + echo, body: #"{"text":"up"}"#, on: loop)
            #expect(wake.status == 409 && wake["code"] == "NOTIFICATION_LOOP")
            // The key was not used up.
            #expect(try await api.post("\(Self.path)/run", ["Idempotency-Key: echo"], on: loop).status == 202)
        }
    }

    @Test func `a run does not make the tag of a definition old`() async throws {
        try await withAPI(.demo) { api, loop in
            let tag = try #require(try await api.get(Self.path, on: loop).field("etag"))
            try await api.post("\(Self.path)/run", ["Idempotency-Key: a"], on: loop)
            try await api.advance(200, on: loop)
            let patch = Field.json + ["If-Match: \(tag)"]
            #expect(
                try await api.request("PATCH", Self.path, patch, body: #"{"enabled":false}"#, on: loop).status == 200
            )
        }
    }

    @Test(arguments: ["/v1/automations/none", "/v1/automations/a%2Fb", "/v1/automations/none/runs"])
    func `there is no job of another id`(_ path: String) async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.get(path, on: loop)
            #expect(answer.status == 404 && answer["code"] == "AUTOMATION_NOT_FOUND", "\(answer.body)")
        }
    }

    @Test func `a job's text is for admins, and a token of sessions sees no job`() async throws {
        try await withAPI(Self.setup(.march)) { api, loop in
            let sensors = "/v1/automations/5b1f0a7c-2d3e-4f60-8a91-b2c3d4e5f601"
            #expect(
                try await api.get(sensors, on: loop).json["payload"]?["text"]?.string
                    == "Look at the sensors of the house."
            )
            let reader = try await api.token("read", "control", on: loop).bearer
            #expect(try await api.get(sensors, reader, on: loop).json["payload"] == nil)
            try await api.post("\(sensors)/run", ["Idempotency-Key: b"] + reader, on: loop)
            try await api.advance(200, on: loop)
            let runs = try await api.get("\(sensors)/runs", reader, on: loop)
            #expect(runs.json["runs"]?.count == 1 && !runs.body.contains("sensors of the house"), "\(runs.body)")
            #expect(try await api.get("\(sensors)/runs", on: loop).body.contains("sensors of the house"))

            let more = #","sessions":["agent:main:main"]"#
            let bound = try await api.token("read", "send", "control", more: more, on: loop).bearer
            for path in ["/v1/automations", sensors, "\(sensors)/runs"] {
                #expect(try await api.get(path, bound, on: loop)["code"] == "SESSION_NOT_ALLOWED")
            }
            let run = try await api.post("\(sensors)/run", ["Idempotency-Key: c"] + bound, on: loop)
            #expect(run.status == 403 && run["code"] == "SESSION_NOT_ALLOWED")
            let patch = try await api.request(
                "PATCH",
                sensors,
                Field.json + ["If-Match: *"] + bound,
                body: #"{"enabled":false}"#,
                on: loop
            )
            #expect(patch.status == 403)
            let own = try await api.post("/v1/wake", Field.json + bound, #"{"text":"hello"}"#, on: loop)
            #expect(own.status == 202, "\(own.body)")
        }
    }

    @Test func `a word to another session needs a later release`() async throws {
        for (release, status) in [(DemoRelease.march, 501), (.june, 202)] {
            try await withAPI(Self.setup(release)) { api, loop in
                let answer = try await api.post("/v1/wake", Field.json, #"{"text":"x","session":"den"}"#, on: loop)
                #expect(answer.status == status, "\(answer.body)")
                if status == 501 { #expect(answer["capability"] == "wake.session") }
                for body in [
                    #"{"text":" "}"#, #"{"text":"x","mode":"never"}"#, #"{"txt":"x"}"#, #"{"text":"x\u0000"}"#,
                ] {
                    #expect(try await api.post("/v1/wake", Field.json, body, on: loop).status == 422, "\(body)")
                }
            }
        }
    }

    @Test func `without a gateway nothing is done, and its key stays free`() async throws {
        try await withAPI(.away) { api, loop in
            for _ in 0..<2 {
                let run = try await api.post("\(Self.path)/run", ["Idempotency-Key: a"], on: loop)
                #expect(run.status == 503 && run["code"] == "GATEWAY_UNAVAILABLE", "\(run.body)")
                let wake = try await api.post(
                    "/v1/wake",
                    Field.json + ["Idempotency-Key: a"],
                    #"{"text":"x"}"#,
                    on: loop
                )
                #expect(wake.status == 503 && wake.field("idempotency-replayed") == nil)
            }
            let list = try await api.get("/v1/automations", on: loop)
            #expect(list.json["live"]?.bool == false && list.json["asOf"] != nil)
        }
    }
}
