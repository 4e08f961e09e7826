import Access
import Basics
import HTTPModel
import Testing

struct BrowserPolicyTests {
    static let listed = "https://dash.example"

    static func policy(unix: Bool, withOrigins: Bool) throws -> BrowserPolicy {
        BrowserPolicy(
            hosts: unix
                ? .any
                : .only(
                    HostList(addresses: [NetworkAddress(v4: 100, 64, 0, 7)], port: 18780, names: ["Box.tail.ts.net"])
                ),
            origins: withOrigins ? try OriginList([listed]) : OriginList()
        )
    }

    struct Host: Sendable {
        let values: [String]
        let version: HTTPVersion
        /// The status on TCP and on a unix socket; nil passes.
        let tcp: Int?
        let unix: Int?
    }

    static let hosts: [Host] = [
        Host(values: ["127.0.0.1:18780"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["100.64.0.7:18780"], version: .http11, tcp: nil, unix: nil),
        Host(values: ["localhost:18780"], version: .http11, tcp: nil, unix: nil),
        Host(values: ["LocalHost:18780"], version: .http11, tcp: nil, unix: nil),
        Host(values: ["[::1]:18780"], version: .http2, tcp: nil, unix: nil),
        Host(values: ["box.tail.ts.net:18780"], version: .http11, tcp: nil, unix: nil),
        Host(values: ["box.tail.ts.net"], version: .http11, tcp: nil, unix: nil),
        Host(values: ["box.tail.ts.net:443"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["localhost"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["localhost:80"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["localhost.:18780"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["evil.example:18780"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["localhost:18780.evil.example"], version: .http11, tcp: 421, unix: nil),
        Host(values: ["0.0.0.0:18780"], version: .http11, tcp: 421, unix: nil),
        Host(values: [""], version: .http11, tcp: 421, unix: nil),
        Host(values: [], version: .http11, tcp: 400, unix: 400),
        Host(values: [], version: .http2, tcp: 400, unix: 400),
        Host(values: [], version: .http10, tcp: 421, unix: nil),
        Host(values: ["localhost:18780", "localhost:18780"], version: .http11, tcp: 400, unix: 400),
        Host(values: ["localhost:18780", "evil.example"], version: .http2, tcp: 400, unix: 400),
    ]
    static let origins: [[String]] = [
        [], ["null"], [listed], ["https://evil.example"], ["http://localhost:18780"],
        ["https://dash.example.evil.example"],
        ["https://dash.example:443"], ["HTTPS://DASH.EXAMPLE"], [""], [listed, listed], ["*"],
    ]
    static let sites: [String?] = [nil, "none", "same-origin", "same-site", "cross-site", "Cross-Site", "", "x"]
    static let modes: [(String?, String?)] = [
        (nil, nil), ("navigate", "document"), ("navigate", "iframe"), ("no-cors", "image"), ("cors", "empty"),
    ]
    static let methods: [HTTPMethod] = [.get, .head, .options, .post, .put, .patch, .delete]

    /// Every cell compared with a second statement of the rules, made of plain conditions.
    @Test(arguments: [false, true], [false, true])
    func `the whole matrix of host, origin, fetch metadata, method and listener`(unix: Bool, withOrigins: Bool) throws {
        let policy = try Self.policy(unix: unix, withOrigins: withOrigins)
        var cells = 0
        var passed = 0
        for host in Self.hosts {
            var ofHost = RequestHead.sample(.get, host: nil).adding(.host, host.values)
            ofHost.version = host.version
            for origin in Self.origins {
                let ofOrigin = ofHost.adding(.origin, origin)
                for site in Self.sites {
                    let ofSite = site.map { ofOrigin.adding(.secFetchSite, $0) } ?? ofOrigin
                    for (mode, destination) in Self.modes {
                        var ofMode = mode.map { ofSite.adding(.secFetchMode, $0) } ?? ofSite
                        if let destination { ofMode.fields.append(.secFetchDest, destination) }
                        let asking = ofMode.adding(.accessControlRequestMethod, "POST")
                        for method in Self.methods {
                            for preflight in [false, true] {
                                var request = preflight ? asking : ofMode
                                request.method = method
                                let isListed = withOrigins && origin == [Self.listed]
                                let trustedSite = site == nil || site == "none" || site == "same-origin"
                                let link = method == .get && mode == "navigate" && destination == "document"
                                let expected: Int? =
                                    if let status = unix ? host.unix : host.tcp {
                                        status
                                    } else if !origin.isEmpty {
                                        isListed ? (method == .options && preflight ? 204 : nil) : 403
                                    } else {
                                        trustedSite || link ? nil : 403
                                    }
                                let actual: Int? =
                                    switch policy.check(request) {
                                    case .pass: nil
                                    case .preflight: 204
                                    case .refuse(let refusal): Self.statuses[refusal.kind]
                                    }
                                cells += 1
                                if actual == nil { passed += 1 }
                                if actual != expected {
                                    Issue.record(
                                        "\(method) \(request.fields.count) fields: \(String(describing: actual))"
                                    )
                                }
                            }
                        }
                    }
                }
            }
        }
        #expect(
            cells == Self.hosts.count * Self.origins.count * Self.sites.count * Self.modes.count * Self.methods.count
                * 2
        )
        #expect(passed > 0)
    }

    private static let statuses: [AccessRefusal.Kind: Int] = [.hostRequired: 400, .crossOrigin: 403, .wrongHost: 421]

    @Test func `only a listed origin is ever named in an answer`() throws {
        for withOrigins in [false, true] {
            let policy = try Self.policy(unix: true, withOrigins: withOrigins)
            for origin in Self.origins {
                let verdict = policy.check(.sample(.get).adding(.origin, origin))
                switch verdict {
                case .pass(let cors), .preflight(let cors):
                    let allowed = cors.first { $0.name == "access-control-allow-origin" }?.value
                    #expect(allowed == (origin.isEmpty ? nil : Self.listed))
                    #expect(!cors.contains { $0.name == "access-control-allow-credentials" })
                    #expect(cors.contains { $0.name == "vary" } == withOrigins)
                case .refuse(let refusal):
                    #expect(refusal.kind == .crossOrigin)
                }
            }
        }
    }

    @Test func `a preflight names the headers clients need, and private networks only when asked`() throws {
        let policy = try Self.policy(unix: true, withOrigins: true)
        for asked in [false, true] {
            var request = RequestHead.sample(.options).adding(.origin, Self.listed)
            request.fields.append(.accessControlRequestMethod, "PUT")
            if asked { request.fields.append(.accessControlRequestPrivateNetwork, "true") }
            guard case .preflight(let fields) = policy.check(request) else {
                Issue.record("no preflight")
                continue
            }
            let allowed = fields.first { $0.name == "access-control-allow-headers" }?.value ?? ""
            for name in ["Authorization", "Last-Event-ID", "Idempotency-Key", "If-Match", "Content-Type", "Prefer"] {
                #expect(allowed.contains(name))
            }
            #expect(fields.contains { $0.name == "access-control-allow-private-network" } == asked)
        }
    }

    @Test func `a form or text body without a token is taken only when nothing says that a page sent it`() throws {
        let policy = try Self.policy(unix: true, withOrigins: true)
        for method in Self.methods {
            for origin in [[], ["null"], [Self.listed]] {
                for referer in [false, true] {
                    for site in Self.sites {
                        for body in [nil, "text/plain", "application/json"] {
                            for token in [false, true] {
                                var request = RequestHead.sample(method).adding(.origin, origin)
                                if referer { request.fields.append(.referer, "http://a/") }
                                if let site { request.fields.append(.secFetchSite, site) }
                                if let body { request.fields.append(.contentType, body) }
                                let unsafe = ![.get, .head, .options].contains(method)
                                let fromPage = !origin.isEmpty || referer || !(site == nil || site == "none")
                                let expected = !(unsafe && !token && body != "application/json" && fromPage)
                                #expect((policy.checkSimpleBody(request, hasToken: token) == .allowed) == expected)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", RequestHead.BodyKind.simple), ("multipart/form-data", .simple),
        ("text/plain", .simple), ("Text/Plain; charset=utf-8", .simple), ("", .simple), ("nonsense", .simple),
        ("application/json", .other), ("text/markdown", .other),
    ])
    func `types a page can post unasked are known`(type: String, kind: RequestHead.BodyKind) {
        #expect(RequestHead.sample(.post).adding(.contentType, type).bodyKind == kind)
        #expect(RequestHead.sample(.post).adding(.contentLength, "3").bodyKind == .simple)
        #expect(RequestHead.sample(.post).adding(.transferEncoding, "chunked").bodyKind == .simple)
        #expect(RequestHead.sample(.post).adding(.contentLength, "0").bodyKind == .none)
        #expect(RequestHead.sample(.post).bodyKind == .none)
    }

    @Test(arguments: [
        "*", "null", "https://a/", "https://a/b", "a.example", "https://", "HTTPS://a", "https://a b", "https://u@a",
        "https://a:443", "http://a:80", "://a", "",
    ])
    func `an origin that no browser sends, or that admits everyone, is refused in the configuration`(text: String) {
        #expect(throws: OriginList.InvalidOrigin.self) { try OriginList([text]) }
    }

    @Test func `the default port may be left out, any other not`() {
        let plain = HostList(addresses: [.loopback4], port: 80)
        #expect(plain.contains("127.0.0.1"))
        #expect(plain.contains("localhost:80"))
        let secure = HostList(addresses: [.loopback4], port: 443, tls: true)
        #expect(secure.contains("localhost"))
        #expect(!HostList(addresses: [.loopback4], port: 443).contains("localhost"))
        #expect(HostList(addresses: [NetworkAddress(high: 0, low: 0)], port: 1).list == ["localhost:1", "[::1]:1"])
    }

    @Test func `a configured name is taken as a proxy at the default port passes it on, and with a port as it is`() {
        let hosts = HostList(addresses: [.loopback4], port: 18780, names: ["Ladle.example.org", "b.example:8443"])
        for host in ["ladle.example.org", "LADLE.example.org", "ladle.example.org:18780", "b.example:8443"] {
            #expect(hosts.contains(host))
        }
        for host in ["ladle.example.org:8443", "b.example", "b.example:18780", "b.example:8443:18780", "localhost"] {
            #expect(!hosts.contains(host))
        }
    }

    private static let fieldNames: [(String, Bool)] = [
        ("forwarded", true), ("x-forwarded-for", true), ("x-forwarded-proto", true), ("x-real-ip", true), ("via", true),
        ("tailscale-user-login", true), ("tailscale-funnel-request", true), ("x-forward", false),
        ("x-request-id", false),
        ("forwarded-for", false), ("", false), ("host", false), ("vian", false), ("te", false),
    ]

    @Test(arguments: fieldNames)
    func `forwarding fields are known by name`(name: String, expected: Bool) {
        #expect(ForwardingHeaders.contains(name) == expected)
    }
}
