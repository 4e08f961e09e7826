import DemoGateway
import JSONBytes
import TestSupport
import Testing

/// Checks every frame that the gateway sends against the protocol's schemas.
struct DemoSchemaTests {
    static func schema(_ name: String) throws -> SchemaCheck {
        SchemaCheck(root: try TestData.document("\(name).schema.json"))
    }

    /// In the shutdown event the recorded gateway writes null where the schema allows no member at all.
    private static let knownDeviations = ["shutdown"]

    @Test(arguments: DemoRelease.allCases)
    func `frames fit the schema of their protocol`(_ release: DemoRelease) throws {
        let schema = try Self.schema(release.protocolVersion == 3 ? "protocol-2026-03" : "protocol-latest")
        // Only what the newest releases have changed.
        let newest = release >= .september ? try Self.schema("protocol-2026-10") : nil
        let bench = try GatewayBench(release)
        let client = bench.client(scopes: [
            "operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.pairing",
        ])
        drive(bench, client)
        var checked = 0
        func failure(_ value: JSONValue, _ kind: String, _ name: String, _ part: String? = nil) -> String?? {
            for schema in [newest, schema].compactMap(\.self) {
                let row = schema.root[kind]?[name]
                guard let reference = (part.flatMap { row?[$0] } ?? row)?.string else { continue }
                checked += 1
                return .some(schema.failure(value, reference))
            }
            return nil
        }
        for frame in client.frames {
            if frame["type"]?.string == "event" {
                let name = frame["event"]?.string ?? ""
                #expect(schema.failure(frame, "#/$defs/EventFrame") == nil, "\(frame.text)")
                guard !Self.knownDeviations.contains(name), let payload = frame["payload"],
                    // April names the kind of an error, which the schema of March does not know.
                    release != .april || payload["errorKind"] == nil,
                    let found = failure(payload, "x-events", name)
                else { continue }
                #expect(found == nil, "\(name): \(payload.text.prefix(400))")
            } else {
                #expect(schema.failure(frame, "#/$defs/ResponseFrame") == nil, "\(frame.text)")
                guard frame["ok"]?.bool == true, let id = frame["id"]?.string, let payload = frame["payload"] else {
                    continue
                }
                let method = id == "c" ? "connect" : client.methods[id] ?? ""
                guard let found = failure(payload, "x-methods", method, "result") else { continue }
                #expect(found == nil, "\(method): \(payload.text.prefix(400))")
            }
        }
        #expect(checked > 100)
    }

    /// Calls of every kind, and runs of every kind.
    private func drive(_ bench: GatewayBench, _ client: TestClient) {
        if bench.release != .march { client.call("sessions.subscribe") }
        let texts = [
            "hello", "append the weather", "book a train", "fetch https://example.com/", "edit the file",
            "run a failing command", "fail429", "fail401", "fail500", "please think", "parallel", "silent",
            "longtext 9000",
            "echo x", "burst 20 1000", "call yourself Wren", "/verbose full", "weather", "/new",
        ]
        for (number, text) in texts.enumerated() {
            client.chatSend(text, key: "key-\(number)", session: number % 2 == 0 ? "main" : "agent:main:other")
            bench.run(ms: 300)
            client.call("chat.history", "{\"sessionKey\":\"main\"}")
        }
        client.chatSend("burst 100 1000", key: "aborted")
        bench.run(ms: 20)
        client.call("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"aborted\"}")
        client.chatSend("hello", key: "key-0")
        if bench.release >= .september { driveQueue(bench, client) }
        for (method, params) in [
            ("health", "{}"), ("agents.list", "{}"), ("sessions.list", "{}"),
            ("agents.files.get", "{\"agentId\":\"main\",\"name\":\"USER.md\"}"),
            ("agents.files.set", "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"x\"}"),
            ("nope", "{}"), ("chat.send", "{\"a\":1}"),
        ] {
            client.call(method, params)
        }
        bench.openSocket(DemoPeer(isForwarded: true)).connect(device: TestDevice(9))
        bench.openSocket().connect(device: TestDevice(9), auth: "{}", signedToken: "")
        bench.run(ms: 61_000)
        bench.take(bench.core.stop(now: bench.now))
    }

    /// Messages of every mode to a busy session, receipts, withdrawals and a pause.
    private func driveQueue(_ bench: GatewayBench, _ client: TestClient) {
        for mode in ["steer", "followup", "collect", "collect", "interrupt", "followup"] {
            client.chatSend("burst 100 1000", key: "busy-\(mode)", mode: "followup")
            bench.run(ms: 20)
            client.chatSend("one more", key: "queued-\(mode)-\(bench.wallMs)", mode: mode)
            client.history(receipts: ["busy-\(mode)", "queued-\(mode)-\(bench.wallMs)"])
            client.wait("busy-\(mode)")
        }
        client.call("chat.abort", "{\"sessionKey\":\"agent:main:main\"}")
        let model = bench.core as? DemoGatewayModel
        for pause in [DemoPause.preparing, .draining, .prepared, .accepting] {
            bench.take(model?.pause(pause, now: bench.now) ?? [])
            client.history()
        }
        client.call("sessions.status", "{\"key\":\"main\"}")
        bench.run(ms: 1_000)
        client.history(receipts: ["busy-collect"])
    }

    @Test
    func `the checker itself finds what is wrong`() throws {
        let text = """
            {"$defs":{"A":{"type":"object","properties":{"n":{"type":"integer","minimum":1},"s":{"enum":["x"]},
            "l":{"type":"array","items":{"$ref":"#/$defs/B"},"minItems":1}},"required":["n"],"additionalProperties":false},
            "B":{"anyOf":[{"const":"q"},{"type":"null"}]}}}
            """
        let schema = SchemaCheck(root: try JSONDocument(parsing: text).root)
        let cases: [(String, Bool)] = [
            ("{\"n\":1}", true), ("{\"n\":0}", false), ("{}", false), ("{\"n\":1,\"z\":1}", false),
            ("{\"n\":1,\"s\":\"y\"}", false), ("{\"n\":1,\"l\":[\"q\",null]}", true), ("{\"n\":1,\"l\":[]}", false),
            ("{\"n\":1,\"l\":[1]}", false), ("[]", false), ("{\"n\":1.5}", false),
        ]
        for (value, fits) in cases {
            #expect((schema.failure(try JSONDocument(parsing: value).root, "#/$defs/A") == nil) == fits, "\(value)")
        }
    }
}
