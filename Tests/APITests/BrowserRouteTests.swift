import API
import EventLoops
import TestSupport
import Testing

/// Every cell of Host, Origin, Sec-Fetch-Site, method and listener.
struct BrowserRouteTests {
    private static let listed = "http://app.example"
    private static let setup = APIBench.Setup(hostNames: ["box.example"], origins: [listed])

    private struct Host {
        let name: String
        let value: String?
        let refusal: Int?
    }

    private struct Method {
        let line: (String, String)
        let fields: [String]
        let body: String?
        /// The status if nothing was refused before the handler.
        let passed: Int
    }

    private let methods = [
        Method(line: ("GET", "/healthz"), fields: [], body: nil, passed: 200),
        Method(line: ("GET", "/v1/status"), fields: [], body: nil, passed: 200),
        Method(line: ("POST", "/v1/messages"), fields: Field.json, body: "{}", passed: 422),
    ]

    private func check(
        _ api: APIBench,
        _ host: Host,
        from place: APIBench.Place,
        on loop: isolated EventLoop
    ) async throws {
        for origin in [nil, "null", "http://evil.example", "http://127.0.0.1:\(APIBench.port)", Self.listed] {
            for site in [nil, "none", "same-origin", "same-site", "cross-site", "garbage"] {
                for method in methods {
                    let isOwn = origin == nil && [nil, "none", "same-origin"].contains(site)
                    let expected = host.refusal ?? (isOwn || origin == Self.listed ? method.passed : 403)
                    let fields =
                        method.fields + (origin.map { ["Origin: \($0)"] } ?? [])
                        + (site.map { ["Sec-Fetch-Site: \($0)", "Sec-Fetch-Mode: cors"] } ?? [])
                    let answer = try await api.request(
                        method.line.0,
                        method.line.1,
                        fields,
                        body: method.body,
                        host: host.value.map(Optional.some),
                        from: place,
                        on: loop
                    )
                    let cell = "\(place.listener) \(host.name) \(origin ?? "-") \(site ?? "-") \(method.line)"
                    #expect(answer.status == expected, "\(cell): \(answer)")
                    let allowed = answer.field("Access-Control-Allow-Origin")
                    #expect(allowed == (origin == Self.listed && host.refusal == nil ? origin : nil), "\(cell)")
                }
            }
        }
    }

    @Test func `every cell of the matrix is let through or refused as stated`() async throws {
        let port = APIBench.port
        let hosts = [
            Host(name: "address", value: nil, refusal: nil),
            Host(name: "localhost", value: "localhost:\(port)", refusal: nil),
            Host(name: "capitals", value: "LocalHost:\(port)", refusal: nil),
            Host(name: "IPv6", value: "[::1]:\(port)", refusal: nil),
            Host(name: "configured", value: "box.example:\(port)", refusal: nil),
            Host(name: "rebound", value: "evil.example:\(port)", refusal: 421),
            Host(name: "no port", value: "127.0.0.1", refusal: 421),
            Host(name: "other port", value: "127.0.0.1:1", refusal: 421),
            Host(name: "any address", value: "0.0.0.0:\(port)", refusal: 421),
            Host(name: "suffix", value: "localhost.evil.example:\(port)", refusal: 421),
        ]
        try await withAPI(Self.setup) { api, loop in
            for host in hosts {
                try await check(api, host, from: .tcp, on: loop)
                try await check(api, Host(name: host.name, value: host.value, refusal: nil), from: .unix, on: loop)
            }
        }
    }

    @Test func `forms and text without a token are taken from tools and not from pages`() async throws {
        try await withAPI(Self.setup) { api, loop in
            for type in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
                for evidence in ["Referer: http://evil.example/", "Origin: \(Self.listed)"] {
                    let fields = ["Content-Type: \(type)", evidence]
                    let answer = try await api.post("/v1/messages", fields, "hello", on: loop)
                    #expect(answer.status == 403, "\(type) \(evidence): \(answer)")
                }
            }
            #expect(try await api.say("hello", on: loop).status == 202)
        }
    }

    @Test func `preflights are answered for listed origins only`() async throws {
        try await withAPI(Self.setup) { api, loop in
            let fields = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"]
            let origin = ["Origin: \(Self.listed)"]
            let good = try await api.request("OPTIONS", "/v1/messages", fields + origin, on: loop)
            #expect(good.status == 204)
            #expect(good.field("Access-Control-Allow-Origin") == Self.listed)
            let evil = ["Origin: http://evil.example"]
            let bad = try await api.request("OPTIONS", "/v1/messages", fields + evil, on: loop)
            #expect(bad.status == 403)
            #expect(bad.field("Access-Control-Allow-Origin") == nil)
        }
    }

    @Test func `streams that ask for no keep-alive get the configured one`() async throws {
        try await withAPI(.init(api: { $0.heartbeatSeconds = 5 })) { api, loop in
            let stream = try await api.open("GET", "/v1/events", on: loop)
            #expect(stream.text.contains("event: hello") && !stream.text.contains("\n:"))
            try await api.advance(5000, on: loop)
            #expect(stream.text.contains("\n:"))
        }
    }
}
