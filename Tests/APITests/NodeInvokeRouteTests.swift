import DemoGateway
import EventLoops
import JSONBytes
import Observability
import Service
import TestSupport
import Testing

struct NodeInvokeRouteTests {
    private static let phone = "/v1/nodes/0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23/invoke"
    private static let mac = "/v1/nodes/1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034/invoke"
    private static let named = [
        "location.get", "contacts.*", "camera.snap", "camera.clip", "screen.record", "canvas.snapshot", "photos.latest",
        "reminders.list", "calendar.events",
    ]

    private static func setup(_ release: DemoRelease = .june, allow: [String] = named) throws -> APIBench.Setup {
        let policy = try NodePolicy(allow: allow)
        return APIBench.Setup(services: { $0.nodes = policy }, demo: { $0.release = release })
    }

    private func invoke(
        _ api: APIBench,
        _ path: String,
        _ body: String,
        key: String,
        _ fields: [String] = [],
        on loop: isolated EventLoop
    ) async throws -> Answer {
        let request = try await api.open(
            "POST",
            path,
            Field.json + ["Idempotency-Key: \(key)"] + fields,
            body: body,
            on: loop
        )
        for _ in 0..<40 where !request.hasEnded { try await api.advance(50, on: loop) }
        return try #require(request.answer)
    }

    private func frames(_ api: APIBench) -> Int { api.gateway.requests("node.invoke").count }

    @Test(arguments: DemoRelease.allCases)
    func `a notice reaches its node once for each key`(_ release: DemoRelease) async throws {
        try await withAPI(Self.setup(release)) { api, loop in
            let body = #"{"command":"system.notify","params":{"title":"The washing is done"}}"#
            let bare = try await api.post(Self.phone, Field.json, body, on: loop)
            #expect(bare.status == 400 && bare["code"] == "IDEMPOTENCY_KEY_REQUIRED")
            let first = try await invoke(api, Self.phone, body, key: "a", on: loop)
            #expect(first.status == 200 && first.json["command"]?.string == "system.notify", "\(first.body)")
            #expect(first.json["result"]?.isNull == true && first.field("cache-control") == "no-store")
            let again = try await invoke(api, Self.phone, body, key: "a", on: loop)
            #expect(again.body == first.body && again.field("idempotency-replayed") == "true")
            let other = try await invoke(api, Self.mac, body, key: "a", on: loop)
            #expect(other.status == 422 && other["code"] == "IDEMPOTENCY_KEY_REUSED")
            #expect(frames(api) == 1)
            try await api.restart(on: loop)
            let later = try await api.post(Self.phone, Field.json + ["Idempotency-Key: a"], body, on: loop)
            #expect(later.body == first.body && frames(api) == 1)
        }
    }

    @Test func `a command queued until the app is in front is never sent twice`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let body = #"{"command":"canvas.navigate","params":{"url":"https://example.org/#/a"}}"#
            let first = try await invoke(api, Self.phone, body, key: "a", on: loop)
            #expect(first.status == 202 && first.json["queued"]?.bool == true, "\(first.body)")
            #expect(first["queuedActionId"] == "queued-1" && first.json["retryable"]?.bool == false)
            #expect(
                first["gatewayCode"] == "QUEUED_UNTIL_FOREGROUND" && first["nodeCode"] == "NODE_BACKGROUND_UNAVAILABLE"
            )
            let again = try await invoke(api, Self.phone, body, key: "a", on: loop)
            #expect(again.status == 202 && again.body == first.body && frames(api) == 1)
        }
    }

    private struct Refusal: Sendable {
        let path: String
        let command: String
        let status: Int
        let code: String
        var nodeCode: String?
        var retryAfter: String?
    }

    private static let refusals = [
        Refusal(
            path: phone,
            command: "camera.snap",
            status: 503,
            code: "NODE_IN_BACKGROUND",
            nodeCode: "NODE_BACKGROUND_UNAVAILABLE",
            retryAfter: "60"
        ),
        Refusal(
            path: phone,
            command: "contacts.search",
            status: 403,
            code: "NODE_PERMISSION",
            nodeCode: "CONTACTS_PERMISSION_REQUIRED"
        ),
        Refusal(path: phone, command: "photos.latest", status: 504, code: "NODE_TIMEOUT", nodeCode: "TIMEOUT"),
        Refusal(path: phone, command: "reminders.list", status: 502, code: "NODE_FAILED", nodeCode: "INTERNAL"),
        Refusal(path: phone, command: "device.health", status: 422, code: "COMMAND_NOT_ALLOWED"),
        Refusal(path: phone, command: "notifications.list", status: 422, code: "COMMAND_NOT_ALLOWED"),
        Refusal(
            path: mac,
            command: "location.get",
            status: 403,
            code: "NODE_PERMISSION",
            nodeCode: "LOCATION_DISABLED"
        ),
        Refusal(path: "/v1/nodes/nobody/invoke", command: "system.notify", status: 404, code: "NODE_NOT_FOUND"),
    ]

    @Test func `each refusal has its problem, with both codes`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            for (number, refusal) in Self.refusals.enumerated() {
                let body = #"{"command":"\#(refusal.command)"}"#
                let answer = try await invoke(api, refusal.path, body, key: "k\(number)", on: loop)
                #expect(answer.status == refusal.status && answer["code"] == refusal.code, "\(answer.body)")
                #expect(answer["nodeCode"] == refusal.nodeCode, "\(answer.body)")
                #expect((answer["gatewayCode"] != nil) == (refusal.nodeCode != nil))
                if let wait = refusal.retryAfter { #expect(answer.field("retry-after") == wait) }
                #expect(!answer.body.contains("/home/"))
                // A repeat under the same key sends no second frame.
                let sent = frames(api)
                _ = try await invoke(api, refusal.path, body, key: "k\(number)", on: loop)
                #expect(frames(api) == sent, "\(refusal.command)")
            }
            #expect(try #require(api.demo?.gateway.core as? DemoGatewayModel).setNode("Mac", isConnected: false))
            try await api.advance(3_000, on: loop)
            let away = try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "off", on: loop)
            #expect(away.status == 503 && away["code"] == "NODE_OFFLINE" && away.field("retry-after") == "30")
            #expect(away["gatewayCode"] == "NOT_CONNECTED")
        }
    }

    @Test(arguments: [
        "system.run", "system.which", "system.execApprovals.get", "browser.proxy", "fs.read", "terminal.open",
        "computer.act", "desktop.stream", "mobile.ui.tap", "sms.send", "notifications.actions", "talk.ptt.start",
        "location.get", "camera.snap", "made.up", "System.Notify", "system.notify ", "\\u0000", "system.notify\\u0000",
    ])
    func `without a setting nothing of these leaves`(_ command: String) async throws {
        try await withAPI(Self.setup(allow: [])) { api, loop in
            let answer = try await invoke(api, Self.mac, #"{"command":"\#(command)"}"#, key: "a", on: loop)
            #expect(answer.status == 422 && answer["code"] == "COMMAND_NOT_ALLOWED" && answer["by"] == "ladle")
            #expect(frames(api) == 0)
            // The key is still free.
            let notice = try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "a", on: loop)
            #expect(notice.status == 200, "\(notice.body)")
        }
    }

    @Test(arguments: [
        "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "https://user@example.org/",
        "http://localhost/",
        "http://LOCALHOST./", "http://127.0.0.1:18789/", "http://[::1]/", "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://0x7f.1/", "http://2130706433/", "http://169.254.169.254/", "http://a.localhost/x", "ftp://example.org/",
        "//example.org/", "", "https://exa mple.org/", "https:\\\\/\\\\/example.org", "http://gateway.example/",
        "http://GATEWAY.example.:80/x",
    ])
    func `a canvas shows no file, script or page of the gateway`(_ url: String) async throws {
        try await withAPI(Self.setup()) { api, loop in
            api.gateway.status.url = "ws://gateway.example:18789"
            let body = #"{"command":"canvas.present","params":{"url":"\#(url)"}}"#
            let answer = try await invoke(api, Self.mac, body, key: "a", on: loop)
            #expect(answer.status == 422 && answer["field"] == "params.url", "\(answer.body)")
            #expect(frames(api) == 0)
        }
    }

    @Test func `a canvas gets what was understood and nothing beside it`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let odd = try await invoke(
                api,
                Self.mac,
                #"{"command":"canvas.present","params":{"url":"https://example.org/","html":"<script>"}}"#,
                key: "a",
                on: loop
            )
            #expect(odd.status == 422 && odd["field"] == "params.html")
            let good = try await invoke(
                api,
                Self.mac,
                #"{"command":"canvas.present","params":{"\u0075rl":"HTTPS://Example.org/a?b#c","x":1,"width":null}}"#,
                key: "b",
                on: loop
            )
            #expect(good.status == 200, "\(good.body)")
            let sent = api.gateway.requests("node.invoke").last?.params["params"]
            #expect(sent?["url"]?.string == "https://example.org/a?b#c" && sent?.count == 2)
        }
    }

    @Test func `pictures and clips come as bytes, checked by what they are`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let image = ["Accept: image/*"]
            let picture = try await invoke(api, Self.mac, #"{"command":"camera.snap"}"#, key: "a", image, on: loop)
            #expect(picture.status == 200 && picture.field("content-type") == "image/jpeg", "\(picture.body)")
            #expect(picture.body.hasPrefix("\u{FFFD}") && picture.field("cache-control") == "no-store")
            // The answer is neither stored nor requested again.
            let again = try await invoke(api, Self.mac, #"{"command":"camera.snap"}"#, key: "a", image, on: loop)
            #expect(again.status == 409 && again["code"] == "RESULT_NOT_KEPT" && frames(api) == 1, "\(again.body)")
            let clip = try await invoke(
                api,
                Self.mac,
                #"{"command":"camera.clip"}"#,
                key: "b",
                ["Accept: video/*"],
                on: loop
            )
            #expect(clip.status == 200 && clip.field("content-type") == "video/mp4")
            for (number, (command, accept)) in [("screen.record", "video/*"), ("canvas.snapshot", "image/png")]
                .enumerated()
            {
                let body = #"{"command":"\#(command)"}"#
                let wrong = try await invoke(api, Self.mac, body, key: "w\(number)", ["Accept: \(accept)"], on: loop)
                #expect(wrong.status == 502 && wrong["code"] == "NODE_FAILED", "\(wrong.body)")
            }
            let sent = frames(api)
            for (command, accept) in [("camera.snap", "video/mp4"), ("system.notify", "image/jpeg")] {
                let none = try await invoke(
                    api,
                    Self.mac,
                    #"{"command":"\#(command)"}"#,
                    key: "n",
                    ["Accept: \(accept)"],
                    on: loop
                )
                #expect(none.status == 406, "\(none.body)")
            }
            #expect(frames(api) == sent)
        }
    }

    @Test func `private results are not kept, and a text that is no JSON stays one`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let place = try await invoke(api, Self.phone, #"{"command":"location.get"}"#, key: "a", on: loop)
            #expect(place.json["result"]?["lat"]?.double == 52.520008, "\(place.body)")
            let again = try await invoke(api, Self.phone, #"{"command":"location.get"}"#, key: "a", on: loop)
            #expect(again.status == 409 && again["code"] == "RESULT_NOT_KEPT")
            let broken = try await invoke(api, Self.phone, #"{"command":"calendar.events"}"#, key: "b", on: loop)
            #expect(broken["result"] == #"{"events": ["# && broken.json["raw"]?.bool == true, "\(broken.body)")
        }
    }

    @Test func `requests have their limits`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let long = String(repeating: "x", count: 65 << 10)
            let big = try await invoke(
                api,
                Self.mac,
                #"{"command":"system.notify","params":{"body":"\#(long)"}}"#,
                key: "a",
                on: loop
            )
            #expect(big.status == 413 && big["field"] == "params", "\(big.body.prefix(300))")
            for (body, field) in [
                (#"{"command":7}"#, "command"), (#"{"params":{}}"#, "command"),
                (#"{"command":"system.notify","params":[]}"#, "params"),
                (#"{"command":"system.notify","timeoutMs":999}"#, "timeoutMs"),
                (#"{"command":"system.notify","timeoutMs":120001}"#, "timeoutMs"),
                (#"{"command":"system.notify","timeoutMs":"5000"}"#, "timeoutMs"),
            ] {
                let answer = try await invoke(api, Self.mac, body, key: "a", on: loop)
                #expect(answer.status == 422 && answer["field"] == field, "\(body): \(answer.body)")
            }
            #expect(frames(api) == 0)
        }
    }

    @Test func `a token has its rate, captures a slower one`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let bearer = try await api.token("nodes", on: loop).bearer
            let snap = #"{"command":"camera.snap"}"#
            #expect(try await invoke(api, Self.mac, snap, key: "a", bearer, on: loop).status == 200)
            let second = try await invoke(api, Self.mac, snap, key: "b", bearer, on: loop)
            #expect(second.status == 429 && second["code"] == "RATE_LIMITED" && second.field("retry-after") != nil)
            for number in 0..<5 {
                let answer = try await invoke(
                    api,
                    Self.mac,
                    #"{"command":"system.notify"}"#,
                    key: "n\(number)",
                    bearer,
                    on: loop
                )
                #expect(answer.status == 200, "\(answer.body)")
            }
            let over = try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "n5", bearer, on: loop)
            #expect(over.status == 429)
            // A repeat does not count against the limit.
            #expect(
                try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "n0", bearer, on: loop).status
                    == 200
            )
            // The call was never sent, so its key is free.
            try await api.advance(60_000, on: loop)
            #expect(
                try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "n5", bearer, on: loop).status
                    == 200
            )
        }
    }

    @Test func `it takes the scope nodes, and no token limited to sessions`() async throws {
        try await withAPI(Self.setup()) { api, loop in
            let body = #"{"command":"system.notify"}"#
            let reader = try await api.token("read", "send", "control", on: loop).bearer
            let refused = try await invoke(api, Self.mac, body, key: "a", reader, on: loop)
            #expect(refused.status == 403 && refused["code"] == "MISSING_SCOPE")
            let bound = try await api.token("nodes", "read", more: #","sessions":["agent:main:main"]"#, on: loop)
                .bearer
            let limited = try await invoke(api, Self.mac, body, key: "a", bound, on: loop)
            #expect(limited.status == 403 && limited["code"] == "SESSION_NOT_ALLOWED")
            #expect(frames(api) == 0)
        }
    }

    @Test func `without a gateway nothing is kept for later`() async throws {
        try await withAPI(.away) { api, loop in
            for _ in 0..<2 {
                let answer = try await invoke(api, Self.mac, #"{"command":"system.notify"}"#, key: "a", on: loop)
                #expect(answer.status == 503 && answer["code"] == "GATEWAY_UNAVAILABLE", "\(answer.body)")
                #expect(answer.field("idempotency-replayed") == nil)
            }
        }
    }
}
