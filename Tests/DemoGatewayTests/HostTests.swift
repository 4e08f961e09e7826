import Basics
import DemoGateway
import JSONBytes
import TLS
import Testing

/// Sessions, agents and files, nodes, approvals, devices.
struct HostTests {
    @Test
    func `history limits, counts and names its rows`() throws {
        let bench = GatewayBench(.june)
        let client = bench.client()
        for number in 1...5 {
            client.chatSend("echo \(number)", key: "k\(number)")
            bench.run(ms: 10)
        }
        let page = client.payload("chat.history", "{\"sessionKey\":\"main\",\"limit\":3}")
        let rows = page?["messages"]?.elements.map { $0 } ?? []
        #expect(rows.compactMap { $0["__openclaw"]?["seq"]?.int } == [8, 9, 10])
        #expect(rows[1]["content"]?.string == "echo 5")
        #expect(rows[1]["idempotencyKey"]?.string == "k5:user")
        #expect(page?["sessionKey"]?.string == "main")
        #expect(page?["sessionInfo"]?["key"]?.string == "agent:main:main")
        #expect(client.payload("chat.history", "{\"sessionKey\":\"nowhere\"}")?["messages"]?.count == 0)
        #expect(
            client.error("chat.history", "{\"sessionKey\":\"main\",\"limit\":0}")
                == "invalid chat.history params: at /limit: must be >= 1"
        )
        #expect(
            client.error("chat.history", "{\"sessionKey\":\"main\",\"limit\":5000}")
                == "invalid chat.history params: at /limit: must be <= 1000"
        )
    }

    @Test
    func `each release stores the key in its own place, and a fault hides it`() {
        for (release, top, nested) in [
            (GatewayRelease.march, false, false), (.june, true, false), (.autumn, false, true),
        ] {
            let bench = GatewayBench(release)
            let client = bench.client()
            client.chatSend("echo", key: "k")
            bench.run(ms: 10)
            func row() -> JSONValue? { client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?[0] }
            #expect((row()?["idempotencyKey"]?.string == "k:user") == top)
            #expect((row()?["__openclaw"]?["idempotencyKey"]?.string == "k:user") == nested)
            bench.model.faults.historyWithoutKeys = true
            #expect(row()?.text.contains("k:user") == false)
        }
    }

    @Test
    func `the user's row comes with the first answer, or at once when asked`() {
        for isAtOnce in [false, true] {
            let bench = GatewayBench(.june) {
                $0.speed = 1
                $0.storesUserRowAtOnce = isAtOnce
            }
            let client = bench.client()
            client.chatSend("slow count", key: "k")
            bench.run(ms: 1_500)
            let page = client.payload("chat.history", "{\"sessionKey\":\"main\"}")
            #expect(page?["messages"]?.count == (isAtOnce ? 1 : 0))
            #expect(page?["inFlightRun"]?["runId"]?.string == "k")
            #expect(page?["inFlightRun"]?["text"]?.string?.hasPrefix("number 1") == true)
        }
    }

    @Test
    func `sessions are listed, previewed, resolved, patched, reset, compacted and deleted`() throws {
        let bench = GatewayBench(.june)
        let client = bench.client()
        bench.run(ms: 10)
        client.chatSend("echo side", key: "k", session: "agent:main:side")
        bench.run(ms: 10)
        let list = client.payload("sessions.list", "{\"includeLastMessage\":true,\"includeDerivedTitles\":true}")
        #expect(list?["sessions"]?[0]?["key"]?.string == "agent:main:side")
        #expect(list?["sessions"]?[0]?["lastMessagePreview"]?.string == "side")
        #expect(list?["totalCount"]?.int == 2)
        let preview = client.payload("sessions.preview", "{\"keys\":[\"agent:main:side\",\"nope\"]}")?["previews"]
        #expect(preview?[0]?["items"]?[0]?["role"]?.string == "user")
        #expect(preview?[1]?["status"]?.string == "missing")
        #expect(client.payload("sessions.resolve", "{\"key\":\"side\"}")?["key"]?.string == "agent:main:side")
        #expect(
            client.call("sessions.patch", "{\"key\":\"side\",\"label\":\"Side\",\"model\":\"demo-2\"}")?["payload"]?[
                "entry"
            ]?["label"]?.string == "Side"
        )
        #expect(client.error("sessions.patch", "{\"key\":\"main\",\"label\":\"Side\"}") == "label already in use: Side")
        #expect(
            client.error("sessions.patch", "{\"key\":\"main\",\"verboseLevel\":\"loud\"}")
                == "invalid verboseLevel (use \"on\"|\"off\"|\"full\")"
        )
        let before = client.payload("chat.history", "{\"sessionKey\":\"side\"}")?["sessionId"]?.string
        #expect(client.payload("sessions.compact", "{\"key\":\"side\",\"maxLines\":1}")?["compacted"]?.bool == true)
        let reset = client.payload("sessions.reset", "{\"key\":\"side\"}")
        #expect(reset?["entry"]?["sessionId"]?.string != before)
        #expect(client.payload("chat.history", "{\"sessionKey\":\"side\"}")?["messages"]?.count == 0)
        #expect(client.payload("sessions.delete", "{\"key\":\"side\"}")?["deleted"]?.bool == true)
        #expect(
            client.error("sessions.delete", "{\"key\":\"main\"}") == "Cannot delete the main session (agent:main:main)."
        )
        #expect(GatewayBench(.march).client().error("sessions.subscribe") == "unknown method: sessions.subscribe")
    }

    @Test
    func `files are listed, read and written whole, others are refused`() {
        let bench = GatewayBench(.june)
        let client = bench.client()
        let files = client.payload("agents.files.list", "{\"agentId\":\"main\"}")?["files"]?.elements.map { $0 } ?? []
        #expect(files.contains { $0["name"]?.string == "MEMORY.md" && $0["missing"]?.bool == true })
        #expect(files.contains { $0["name"]?.string == "IDENTITY.md" && $0["missing"]?.bool == false })
        let missing = client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"MEMORY.md\"}")?["file"]
        #expect(missing?["missing"]?.bool == true && missing?["content"] == nil)
        #expect(
            client.payload("agents.files.set", "{\"agentId\":\"main\",\"name\":\"MEMORY.md\",\"content\":\"x\"}")?[
                "file"
            ]?["size"]?.int == 1
        )
        #expect(
            client.error("agents.files.get", "{\"agentId\":\"main\",\"name\":\"../x\"}") == "unsupported file \"../x\""
        )
        #expect(client.error("agents.files.get", "{\"agentId\":\"nobody\",\"name\":\"USER.md\"}") == "unknown agent id")
        #expect(
            client.error(
                "agents.files.set",
                "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"\",\"expectedMissing\":true}"
            )
                == "invalid agents.files.set params: at root: unexpected property 'expectedMissing'"
        )
    }

    @Test
    func `the newest release guards writes by hash`() throws {
        let bench = GatewayBench(.autumn)
        let client = bench.client()
        let hash = try #require(
            client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"USER.md\"}")?["file"]?["hash"]?.string
        )
        func set(_ guardText: String) -> JSONValue? {
            client.call(
                "agents.files.set",
                "{\"agentId\":\"main\",\"name\":\"USER.md\",\"content\":\"x\",\(guardText)}"
            )
        }
        #expect(set("\"expectedMissing\":true")?["ok"]?.bool == false)
        #expect(set("\"expectedHash\":\"\(hash)\"")?["ok"]?.bool == true)
        #expect(
            set("\"expectedHash\":\"\(hash)\"")?["error"]?["details"]?["currentHash"]?.string
                == Hex.encode(Digest.sha256([0x78]))
        )
        #expect(set("\"expectedHash\":\"short\"")?["error"]?["message"]?.string?.contains("must match pattern") == true)
    }

    @Test
    func `nodes answer, refuse and are absent as on a real host`() {
        let client = GatewayBench(.june).client()
        #expect(client.payload("node.list")?["nodes"]?[0]?["nodeId"]?.string == "demo-phone")
        #expect(client.error("node.describe", "{\"nodeId\":\"x\"}") == "unknown nodeId")
        func invoke(_ node: String, _ command: String) -> JSONValue? {
            client.call("node.invoke", "{\"nodeId\":\"\(node)\",\"command\":\"\(command)\",\"idempotencyKey\":\"i\"}")
        }
        #expect(invoke("demo-phone", "location.get")?["payload"]?["payload"]?["lat"]?.double == 52.52)
        #expect(invoke("demo-phone", "shell.run")?["error"]?["details"]?["reason"]?.string == "command not allowlisted")
        #expect(invoke("gone", "location.get")?["error"]?["details"]?["code"]?.string == "NOT_CONNECTED")
        #expect(invoke("demo-phone", "canvas.eval")?["error"]?["retryAfterMs"]?.int == 5_000)
    }

    @Test(arguments: [GatewayRelease.march, .june], ["allow-once", "deny"])
    func `a command waits for a decision`(_ release: GatewayRelease, _ decision: String) throws {
        let bench = GatewayBench(release) { $0.speed = 1 }
        let client = bench.client(scopes: ["operator.read", "operator.write", "operator.approvals"])
        client.chatSend("something to approve", key: "a")
        bench.run(ms: 5_000)
        let asked = try #require(client.payloads("exec.approval.requested").first)
        #expect(client.events("exec.approval.requested").first?["seq"] == nil || release == .march)
        let id = try #require(asked["id"]?.string)
        if release == .june { #expect(client.payload("exec.approval.list")?[0]?["id"]?.string == id) }
        bench.run(ms: 10_000)
        #expect(client.chat("final").isEmpty)
        #expect(
            client.payload("exec.approval.resolve", "{\"id\":\"\(id.prefix(8))\",\"decision\":\"\(decision)\"}")?["ok"]?
                .bool == true
        )
        #expect(client.payloads("exec.approval.resolved").first?["decision"]?.string == decision)
        bench.run(ms: 5_000)
        #expect(client.agent("tool").last?["data"]?["isError"]?.bool == (decision == "deny"))
        #expect(client.chat("final").count == 1)
        #expect(
            client.error("exec.approval.resolve", "{\"id\":\"\(id)\",\"decision\":\"deny\"}")
                == "unknown or expired approval id"
        )
    }

    @Test
    func `without anybody to decide the request ends at once, and an old one expires`() {
        let alone = GatewayBench(.june)
        let plain = alone.client(scopes: ["operator.read", "operator.write"])
        plain.chatSend("approval", key: "a")
        alone.run(ms: 10)
        #expect(plain.agent("tool").last?["data"]?["isError"]?.bool == true)
        let bench = GatewayBench(.march)
        let client = bench.client(scopes: ["operator.read", "operator.write", "operator.approvals"])
        client.chatSend("approval", key: "a")
        bench.run(ms: 119_000)
        #expect(client.chat("final").isEmpty)
        bench.run(ms: 2_000)
        #expect(client.chat("final").count == 1)
    }

    @Test
    func `devices are listed, approved, rotated, revoked and removed`() throws {
        for release in [GatewayRelease.march, .june] {
            let bench = GatewayBench(release)
            let admin = bench.client(
                scopes: ["operator.admin", "operator.pairing"],
                device: TestDevice(1),
                id: "cli",
                mode: "cli"
            )
            bench.model.faults.pairing = true
            let device = TestDevice(2)
            bench.openSocket().connect(scopes: ["operator.read"], device: device)
            let requested = try #require(admin.payloads("device.pair.requested").first)
            let id = try #require(requested["requestId"]?.string)
            #expect(admin.payload("device.pair.list")?["pending"]?.count == 1)
            #expect(
                admin.payload("device.pair.approve", "{\"requestId\":\"\(id)\"}")?["device"]?["deviceId"]?.string
                    == device.id
            )
            #expect(admin.payloads("device.pair.resolved").first?["decision"]?.string == "approved")
            let guest = bench.openSocket()
            #expect(guest.connect(scopes: ["operator.read"], device: device)?["ok"]?.bool == true)
            let rotated = admin.payload("device.token.rotate", "{\"deviceId\":\"\(device.id)\",\"role\":\"operator\"}")
            #expect((rotated?["token"] != nil) == (release == .march))
            #expect((guest.close?.code == 4001) == (release == .june))
            #expect(
                admin.payload("device.token.revoke", "{\"deviceId\":\"\(device.id)\",\"role\":\"operator\"}")?[
                    "revokedAtMs"
                ] != nil
            )
            let after = bench.openSocket().connect(scopes: ["operator.read"], device: device)
            if release == .march {
                #expect(after?["ok"]?.bool == true)
            } else {
                #expect(after?["error"]?["details"]?["reason"]?.string == "role-upgrade")
            }
            #expect(
                admin.payload("device.pair.remove", "{\"deviceId\":\"\(device.id)\"}")?["deviceId"]?.string == device.id
            )
            #expect(admin.error("device.pair.remove", "{\"deviceId\":\"\(device.id)\"}") == "unknown deviceId")
        }
    }

    @Test
    func `attachments are sniffed, limited, and shown without their data`() {
        let png = Base64.encode(
            [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 0, count: 64),
            as: .standard
        )
        let big = Base64.encode([0xff, 0xd8, 0xff] + [UInt8](repeating: 1, count: 6_300_000), as: .standard)
        let file = Base64.encode(Array("plain".utf8), as: .standard)
        func params(_ content: String) -> String {
            "{\"sessionKey\":\"main\",\"message\":\"\",\"idempotencyKey\":\"k\",\"attachments\":[{\"fileName\":\"a\",\"content\":\"\(content)\"}]}"
        }
        let bench = GatewayBench(.june)
        let client = bench.client()
        #expect(client.error("chat.send", params(big))?.hasPrefix("Error: attachment a: exceeds size limit") == true)
        #expect(client.payload("chat.send", params("data:image/png;base64," + png))?["status"]?.string == "started")
        bench.run(ms: 10)
        let block = client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?[0]?["content"]?[0]
        #expect(block?["type"]?.string == "image" && block?["omitted"]?.bool == true && block?["bytes"]?.int == 72)
        // March drops what is no image without a word, and then nothing is left.
        #expect(GatewayBench(.march).client().error("chat.send", params(file)) == "message or attachment required")
    }

    @Test
    func `ten wrong-role calls in a row end the connection`() {
        let client = GatewayBench(.june).client()
        for _ in 1...10 { #expect(client.error("node.event") == "unauthorized role: operator") }
        #expect(client.close == nil)
        client.call("health")
        for _ in 1...11 { client.call("node.event") }
        #expect(client.close?.reason == "repeated unauthorized calls")
    }

    @Test
    func `malformed frames after the hello get an answer and change nothing`() {
        let client = GatewayBench(.june).client()
        client.send("{\"type\":\"ping\"}")
        client.send("{\"type\":\"req\",\"id\":7,\"method\":\"health\"}")
        client.send("{\"type\":\"req\",\"id\":\"\",\"method\":\"health\"}")
        client.send("[[[")
        #expect(client.response("7")?["error"]?["message"]?.string == "invalid request frame: at /id: must be string")
        #expect(client.response("invalid")?["ok"]?.bool == false)
        #expect(client.error("connect") == "connect is only valid as the first request")
        #expect(client.error("nope.method") == "unknown method: nope.method")
        #expect(client.call("health", "{\"zzz\":1}")?["ok"]?.bool == true)
    }
}
