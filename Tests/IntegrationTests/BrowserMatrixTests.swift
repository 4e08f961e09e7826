import TestSupport
import Testing

/// Every cell of Host, Origin, Sec-Fetch-Site, method and listener, through the running program.
struct BrowserMatrixTests {
    private static let listedOrigin = "http://app.example"

    private struct Host {
        let name: String
        let value: String??
        let refusal: Int?
    }

    private struct Method {
        let line: (String, String)
        let fields: [String]
        let body: String?
        /// The status when nothing was refused before the handler.
        let passed: Int
    }

    private let methods = [
        Method(line: ("GET", "/healthz"), fields: [], body: nil, passed: 200),
        Method(line: ("GET", "/v1/status"), fields: [], body: nil, passed: 200),
        Method(line: ("POST", "/v1/messages"), fields: ["Content-Type: application/json"], body: "{}", passed: 422),
    ]

    private func check(
        _ ladle: LadleProcess,
        _ host: Host,
        on listener: String,
        connect: () throws -> BlockingSocket
    ) throws {
        for origin in [nil, "null", "http://evil.example", "http://127.0.0.1:\(ladle.port)", Self.listedOrigin] {
            for site in [nil, "none", "same-origin", "same-site", "cross-site", "garbage"] {
                for method in methods {
                    let expected: Int
                    if let refusal = host.refusal {
                        expected = refusal
                    } else if let origin {
                        expected = origin == Self.listedOrigin ? method.passed : 403
                    } else {
                        expected = [nil, "none", "same-origin"].contains(site) ? method.passed : 403
                    }
                    let fields =
                        method.fields + (origin.map { ["Origin: \($0)"] } ?? [])
                        + (site.map { ["Sec-Fetch-Site: \($0)", "Sec-Fetch-Mode: cors"] } ?? [])
                    let answer = try ladle.request(
                        method.line.0,
                        method.line.1,
                        fields,
                        body: method.body,
                        host: host.value,
                        on: try connect()
                    )
                    let cell = "\(listener) \(host.name) \(origin ?? "-") \(site ?? "-") \(method.line)"
                    #expect(answer.status == expected, "\(cell): \(answer)")
                    let allowed = answer.field("Access-Control-Allow-Origin")
                    #expect(allowed == (origin == Self.listedOrigin && host.refusal == nil ? origin : nil), "\(cell)")
                }
            }
        }
    }

    @Test func `every cell of the matrix is let through or refused as stated`() async throws {
        let folder = try TemporaryFolder()
        let ladle = try await LadleProcess(
            ["--access-origins", Self.listedOrigin, "--access-hosts", "box.example"],
            listen: "127.0.0.1:0,unix:\(folder.path)/s"
        )
        let port = ladle.port
        let hosts = [
            Host(name: "address", value: .none, refusal: nil),
            Host(name: "localhost", value: "localhost:\(port)", refusal: nil),
            Host(name: "capitals", value: "LocalHost:\(port)", refusal: nil),
            Host(name: "IPv6", value: "[::1]:\(port)", refusal: nil),
            Host(name: "configured", value: "box.example:\(port)", refusal: nil),
            Host(name: "rebound", value: "evil.example:\(port)", refusal: 421),
            Host(name: "no port", value: "127.0.0.1", refusal: 421),
            Host(name: "other port", value: "127.0.0.1:1", refusal: 421),
            Host(name: "any address", value: "0.0.0.0:\(port)", refusal: 421),
            Host(name: "suffix", value: "localhost.evil.example:\(port)", refusal: 421),
            Host(name: "none", value: .some(nil), refusal: 400),
        ]
        for host in hosts { try check(ladle, host, on: "tcp") { try ladle.connect() } }
        for host in hosts {
            let unix = Host(name: host.name, value: host.value, refusal: host.refusal == 400 ? 400 : nil)
            try check(ladle, unix, on: "unix") { try BlockingSocket.connect(unixPath: "\(folder.path)/s") }
        }
    }

    @Test func `forms and text without a token are taken from tools and not from pages`() async throws {
        let ladle = try await LadleProcess(["--access-origins", Self.listedOrigin])
        for type in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
            for evidence in ["Referer: http://evil.example/", "Origin: \(Self.listedOrigin)"] {
                let fields = ["Content-Type: \(type)", evidence]
                let answer = try ladle.request("POST", "/v1/messages", fields, body: "hello")
                #expect(answer.status == 403, "\(type) \(evidence): \(answer)")
            }
        }
        let answer = try ladle.request("POST", "/v1/messages", ["Content-Type: text/plain"], body: "hello")
        #expect((200..<300).contains(answer.status), "\(answer)")
    }

    @Test func `preflights are answered for listed origins only`() async throws {
        let ladle = try await LadleProcess(["--access-origins", Self.listedOrigin])
        let fields = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"]
        let good = try ladle.request("OPTIONS", "/v1/messages", fields + ["Origin: \(Self.listedOrigin)"])
        #expect(good.status == 204)
        #expect(good.field("Access-Control-Allow-Origin") == Self.listedOrigin)
        let bad = try ladle.request("OPTIONS", "/v1/messages", fields + ["Origin: http://evil.example"])
        #expect(bad.status == 403)
        #expect(bad.field("Access-Control-Allow-Origin") == nil)
    }
}
