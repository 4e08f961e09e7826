import DemoGateway
import FaultyGateway
import JSONBytes
import Testing

struct HandshakeTests {
    @Test(arguments: DemoRelease.allCases)
    func `a hello names the protocol, the session defaults, the policy and the methods`(_ release: DemoRelease)
        throws
    {
        let bench = try GatewayBench(release)
        let client = bench.openSocket()
        #expect(client.events("connect.challenge").count == 1)
        let hello = try #require(client.connect()?["payload"])
        #expect(hello["type"]?.string == "hello-ok")
        #expect(hello["protocol"]?.int == Int64(release.protocolVersion))
        #expect(hello["snapshot"]?["sessionDefaults"]?["mainSessionKey"]?.string == "agent:main:main")
        #expect(hello["policy"]?["tickIntervalMs"]?.int == 30_000)
        let methods = hello["features"]?["methods"]?.elements.compactMap(\.string) ?? []
        #expect(methods.contains("chat.send"))
        #expect(methods.contains("sessions.subscribe") == (release != .march))
        #expect(client.events("health").count == 1)
    }

    @Test
    func `both payload versions of the device signature are taken`() throws {
        for version in ["v3", "v2"] {
            let client = try GatewayBench().openSocket()
            #expect(client.connect(payloadVersion: version)?["ok"]?.bool == true, "\(version)")
        }
    }

    struct Rejection: CustomTestStringConvertible, Sendable {
        var name: String
        var code: String
        var closeCode: UInt16 = 1008
        var connect: @Sendable (TestClient) -> JSONValue?
        var testDescription: String { name }
    }

    static let rejections: [Rejection] = [
        Rejection(name: "wrong token", code: "AUTH_TOKEN_MISMATCH") {
            $0.connect(auth: "{\"token\":\"x\"}", signedToken: "x")
        },
        Rejection(name: "no token", code: "AUTH_TOKEN_MISSING") { $0.connect(auth: "{}", signedToken: "") },
        Rejection(name: "nothing shown", code: "DEVICE_IDENTITY_REQUIRED") { $0.connect(device: nil, auth: "{}") },
        Rejection(name: "wrong nonce", code: "DEVICE_AUTH_NONCE_MISMATCH") { $0.connect(nonce: "other") },
        Rejection(name: "old signature", code: "DEVICE_AUTH_SIGNATURE_EXPIRED") { $0.connect(signedAt: 1) },
        Rejection(name: "signed with another token", code: "DEVICE_AUTH_SIGNATURE_INVALID") {
            $0.connect(signedToken: "other")
        },
        Rejection(name: "unknown device token", code: "AUTH_DEVICE_TOKEN_MISMATCH") {
            $0.connect(auth: "{\"deviceToken\":\"zzz\"}", signedToken: "zzz")
        },
        Rejection(name: "control ui without device", code: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED") { client in
            let client = client.bench.openSocket(DemoPeer(origin: "http://127.0.0.1:1"))
            return client.connect(device: nil, id: "openclaw-control-ui", mode: "ui")
        },
        Rejection(name: "protocol 99", code: "PROTOCOL_MISMATCH", closeCode: 1002) { $0.connect(protocols: (99, 99)) },
    ]

    @Test(arguments: rejections)
    func `a handshake is refused with its code`(_ rejection: Rejection) throws {
        let bench = try GatewayBench(.june)
        let answer = try #require(rejection.connect(bench.openSocket()))
        #expect(answer["ok"]?.bool == false)
        #expect(answer["error"]?["details"]?["code"]?.string == rejection.code)
        #expect(bench.closes.values.first?.code == rejection.closeCode)
    }

    @Test
    func `a connect with an unknown field or client is refused in the words of each release`() throws {
        for (release, words) in [
            (DemoRelease.march, "must be equal to constant; at /client/id: must match a schema in anyOf"),
            (.june, "must be equal to one of the allowed values"),
        ] {
            let client = try GatewayBench(release).openSocket()
            let answer = client.connect(id: "ladle")
            #expect(answer?["error"]?["message"]?.string == "invalid connect params: at /client/id: \(words)")
            #expect(client.close?.code == 1008)
        }
        let client = try GatewayBench().openSocket()
        #expect(
            client.connect(extra: ",\"foo\":1")?["error"]?["message"]?.string
                == "invalid connect params: at root: unexpected property 'foo'"
        )
    }

    @Test
    func `bad first frames close the connection as recorded`() throws {
        let cases: [(String, UInt16, String)] = [
            ("not json", 1000, ""), ("[]", 1008, "invalid request frame"),
            ("{\"type\":\"ping\"}", 1008, "invalid request frame"),
            (
                "{\"type\":\"req\",\"id\":\"1\",\"method\":\"health\"}", 1008,
                "invalid handshake: first request must be connect"
            ),
            ("{\"type\":\"req\",\"id\":\"1\",\"method\":\"connect\"}", 1008, "invalid connect params: must be object"),
            ("\"" + String(repeating: "x", count: 70_000) + "\"", 1009, "preauth payload too large"),
        ]
        for (text, code, reason) in cases {
            let client = try GatewayBench(.june).openSocket()
            client.send(text)
            #expect(client.close?.code == code)
            #expect(client.close?.reason == reason)
        }
    }

    @Test
    func `a silent client is closed after the handshake time`() throws {
        for (release, seconds) in [(DemoRelease.march, Int64(10)), (.june, 15)] {
            let bench = try GatewayBench(release)
            let client = bench.openSocket()
            bench.run(ms: seconds * 1_000 - 1)
            #expect(client.close == nil)
            bench.run(ms: 1)
            #expect(client.close?.code == 1000)
        }
    }

    @Test
    func `scopes without a device are kept by March, for own backends by June, and cleared otherwise`() throws {
        for (release, id, mode, isKept) in [
            (DemoRelease.march, "cli", "cli", true), (.june, "gateway-client", "backend", true),
            (.june, "cli", "cli", false),
        ] {
            let client = try GatewayBench(release).openSocket()
            client.connect(device: nil, id: id, mode: mode)
            let history = client.call("chat.history", "{\"sessionKey\":\"main\"}")
            #expect((history?["ok"]?.bool == true) == isKept, "\(release) \(id)")
            #expect(client.call("health")?["ok"]?.bool == true)
        }
    }

    @Test
    func `a missing scope has the form of its release`() throws {
        for release in DemoRelease.allCases {
            let client = try GatewayBench(release).client(scopes: ["operator.read"])
            let error = client.call(
                "agents.files.set",
                "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"\"}"
            )?["error"]
            #expect(error?["message"]?.string == "missing scope: operator.admin")
            #expect(error?["code"]?.string == (release >= .autumn ? "FORBIDDEN" : "INVALID_REQUEST"))
            #expect(error?["details"]?["missingScope"]?.string == (release >= .autumn ? "operator.admin" : nil))
        }
    }

    @Test
    func `scopes for sessions alone are enough for messages, and for no files`() throws {
        let bench = try GatewayBench(.october)
        let reader = bench.client(scopes: ["operator.sessions.read"], device: TestDevice(2))
        #expect(reader.history() != nil)
        #expect(reader.chatSend("hello", key: "a")?["error"]?["details"]?["code"]?.string == "MISSING_SCOPE")
        let writer = bench.client(scopes: ["operator.sessions.write"], device: TestDevice(3))
        #expect(writer.chatSend("hello", key: "b")?["ok"]?.bool == true)
        bench.run(ms: 10)
        #expect(reader.chat(of: "b") == ["final+"] && writer.chat(of: "b") == ["final+"])
        #expect(writer.error("usage.status") == "missing scope: operator.read")
        let earlier = try GatewayBench(.june).client(scopes: ["operator.sessions.write"])
        #expect(earlier.error("chat.send") == "missing scope: operator.write")
    }

    @Test
    func `every rejection of the table can be asked for`() throws {
        let error = #expect(throws: DemoGatewayOptionError.self) { try GatewayBench(faults: ["refuse": "nothing"]) }
        let codes = error?.description.split { " ,".contains($0) }.map(String.init).filter { $0.contains("_") } ?? []
        #expect(codes.count > 25)
        for code in codes {
            let bench = try GatewayBench(faults: ["refuse": code])
            let client = bench.openSocket()
            let answer = try #require(client.connect())
            #expect(answer["ok"]?.bool == false, "\(code)")
            let details = answer["error"]?["details"]
            #expect(details?["code"]?.string == code || details?["reason"]?.string == "startup-sidecars", "\(code)")
            #expect(client.close != nil, "\(code)")
        }
    }

    @Test
    func `a device token from an approval works alone`() throws {
        let bench = try GatewayBench(faults: ["pairing": "true"])
        let device = TestDevice(3)
        let first = bench.openSocket().connect(scopes: ["operator.read"], device: device)
        #expect(first?["error"]?["code"]?.string == "NOT_PAIRED")
        let requestID = try #require(first?["error"]?["details"]?["requestId"]?.string)
        // The same request again keeps its id; other scopes get a new one.
        let again = bench.openSocket().connect(scopes: ["operator.read"], device: device)
        #expect(again?["error"]?["details"]?["requestId"]?.string == requestID)
        let wider = bench.openSocket().connect(scopes: ["operator.read", "operator.write"], device: device)
        #expect(wider?["error"]?["details"]?["requestId"]?.string != requestID)

        #expect(try bench.control("POST", "/demo/pairing/approve").status == 200)
        let hello = bench.openSocket().connect(scopes: ["operator.read"], device: device)?["payload"]
        let token = try #require(hello?["auth"]?["deviceToken"]?.string)
        let alone = bench.openSocket().connect(
            scopes: ["operator.read"],
            device: device,
            auth: "{\"deviceToken\":\"\(token)\"}",
            signedToken: token
        )
        #expect(alone?["ok"]?.bool == true)
    }

    @Test
    func `clients with the pairing scope hear of a request and of its approval`() throws {
        let bench = try GatewayBench(faults: [:])
        let admin = bench.client(scopes: ["operator.pairing"], device: TestDevice(1))
        try bench.faulty.faults.pairing = true
        bench.openSocket().connect(scopes: ["operator.read"], device: TestDevice(2))
        let request = try #require(admin.payloads("device.pair.requested").first)
        #expect(request["deviceId"]?.string == TestDevice(2).id)
        let id = try #require(request["requestId"]?.string)
        #expect(try bench.control("POST", "/demo/pairing/approve?id=\(id)").status == 200)
        #expect(admin.payloads("device.pair.resolved").first?["decision"]?.string == "approved")
    }

    @Test
    func `an approval asks again for more scopes, and for a changed device family`() throws {
        let bench = try GatewayBench(.june)
        let device = TestDevice(4)
        #expect(
            bench.openSocket().connect(scopes: ["operator.read"], device: device, id: "cli", mode: "cli")?["ok"]?.bool
                == true
        )
        let wider = bench.openSocket().connect(scopes: ["operator.write"], device: device, id: "cli", mode: "cli")
        #expect(wider?["error"]?["details"]?["reason"]?.string == "scope-upgrade")
        let other = bench.openSocket().connect(
            scopes: ["operator.read"],
            device: device,
            id: "cli",
            mode: "cli",
            family: "toaster"
        )
        #expect(other?["error"]?["details"]?["reason"]?.string == "metadata-upgrade")
    }

    @Test
    func `a forwarded connection is not taken for the host's own`() throws {
        let client = try GatewayBench(.june).openSocket(DemoPeer(isForwarded: true))
        #expect(client.connect()?["error"]?["details"]?["code"]?.string == "PAIRING_REQUIRED")
        #expect(client.close?.reason.hasPrefix("pairing required: device is not approved yet (requestId: ") == true)
    }

    @Test
    func `a pending request is forgotten after five minutes`() throws {
        let bench = try GatewayBench(faults: ["pairing": "true"])
        bench.openSocket().connect()
        bench.run(ms: 301_000)
        #expect(try bench.control("POST", "/demo/pairing/approve").status == 404)
    }

    @Test
    func `stripped scopes bite although the hello lists them`() throws {
        let bench = try GatewayBench(faults: ["strippedScopes": "operator.admin,operator.write"])
        let client = bench.client()
        #expect(
            client.error("agents.files.set", "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"\"}")
                == "missing scope: operator.admin"
        )
    }
}
