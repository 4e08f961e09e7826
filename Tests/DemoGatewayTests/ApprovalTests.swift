import DemoGateway
import JSONBytes
import Testing

/// Approvals beyond the recordings: who sees them, how they end, and their traces afterwards.
struct ApprovalTests {
    private static let approver = ["operator.read", "operator.write", "operator.approvals"]

    private func asked(_ client: TestClient) -> String? {
        client.payloads("exec.approval.requested").last?["id"]?.string
    }

    private func list(_ client: TestClient) -> [String] {
        client.payload("exec.approval.list")?.elements.compactMap { $0["id"]?.string } ?? []
    }

    private func resolve(_ client: TestClient, _ id: String?, _ decision: String) -> String? {
        client.error("exec.approval.resolve", "{\"id\":\"\(id ?? "")\",\"decision\":\"\(decision)\"}")
    }

    @Test
    func `the newest release asks only clients that say they can`() throws {
        let bench = try GatewayBench(.autumn)
        let plain = bench.client(device: TestDevice(1))
        plain.chatSend("approve echo nobody", key: "a")
        bench.run(ms: 10)
        #expect(asked(plain) == nil)
        let end = try #require(plain.agent("tool").last?["data"])
        #expect(end["isError"]?.bool == true)
        let said = end["result"]?["content"]?[0]?["text"]?.string ?? ""
        #expect(said.contains("approval-timeout"))

        let able = bench.client(caps: ["tool-events", "approvals"], device: TestDevice(2))
        plain.chatSend("approve echo somebody", key: "b")
        bench.run(ms: 10)
        let id = try #require(asked(able))
        #expect(asked(plain) == nil && list(plain) == [id])
        #expect(able.payloads("exec.approval.requested").last?["request"]?["runId"]?.string == "b")
        #expect(resolve(able, id, "allow-once") == nil)
        bench.run(ms: 10)
        #expect(plain.chat("final").last?["message"]?.messageText?.hasSuffix("Done: somebody") == true)
    }

    @Test
    func `an operator without the admin scope sees what its own device asked for`() throws {
        let bench = try GatewayBench(.june)
        let admin = bench.client(device: TestDevice(1))
        let own = bench.client(scopes: Self.approver, device: TestDevice(2))
        let other = bench.client(scopes: Self.approver, device: TestDevice(3))
        let reader = bench.client(scopes: ["operator.read", "operator.write"], device: TestDevice(4))
        own.chatSend("approve echo x", key: "a")
        bench.run(ms: 10)
        let id = try #require(asked(admin))
        #expect(asked(own) == id && asked(other) == nil && asked(reader) == nil)
        #expect(list(own) == [id] && list(other).isEmpty)
        #expect(resolve(other, id, "deny") == "unknown or expired approval id")
        #expect(resolve(reader, id, "deny") == "missing scope: operator.approvals")
        #expect(resolve(own, id, "deny") == nil)
        #expect(admin.payloads("exec.approval.resolved").count == 1)
    }

    @Test
    func `the beginning of an id is enough where it names one`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        for session in ["a", "b"] { client.chatSend("approve echo x", key: session, session: "agent:main:\(session)") }
        bench.run(ms: 10)
        let ids = list(client)
        #expect(ids.count == 2)
        #expect(resolve(client, "", "deny") != nil)
        #expect(resolve(client, String(ids[0].prefix(8)), "deny") == nil)
        #expect(list(client) == [ids[1]])
    }

    @Test
    func `a decision for good is offered on demand, and holds`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("/exec ask=on-miss", key: "policy")
        bench.run(ms: 100)
        client.chatSend("approve echo x", key: "a")
        bench.run(ms: 10)
        let request = client.payloads("exec.approval.requested").last?["request"]
        #expect(request?["allowedDecisions"]?.count == 3)
        #expect(request?["unavailableDecisions"] == nil)
        #expect(resolve(client, asked(client), "allow-always") == nil)
        bench.run(ms: 10)
        client.chatSend("approve echo x", key: "b")
        bench.run(ms: 10)
        #expect(client.payloads("exec.approval.requested").count == 1)
        #expect(client.chat("final").last?["message"]?.messageText?.hasSuffix("Done: x") == true)
    }

    @Test(arguments: [DemoRelease.march, .june])
    func `an approval ends with its time, and nobody is told`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release)
        let client = bench.client()
        client.chatSend("approve 5s echo x", key: "a")
        bench.run(ms: 4_900)
        let id = try #require(asked(client))
        #expect(client.chat("final").isEmpty == (release == .june))
        bench.run(ms: 200)
        #expect(resolve(client, id, "deny")?.hasPrefix("unknown") == true)
        #expect(client.payloads("exec.approval.resolved").isEmpty)
        #expect(client.chat("final").count == 1)
        let text = client.chat("final").last?["message"]?.messageText ?? ""
        #expect(text.contains(release == .june ? "approval-timeout" : "Approval required (id \(id.prefix(8)))"))
    }

    @Test
    func `June ends a run that waits too long, and keeps its approval`() throws {
        let bench = try GatewayBench(faults: [:]) {
            $0.speed = 1
            try? $0.set("release", to: "2026.6.11")
        }
        let client = bench.client()
        client.chatSend("approve echo x", key: "a")
        bench.run(ms: 400_000)
        let end = try #require(client.chat("final").first)
        #expect(end["message"] == nil && end["stopReason"]?.string == "toolUse")
        #expect(list(client) == [asked(client)])
        #expect(resolve(client, asked(client), "allow-once") == nil)
        bench.run(ms: 5_000)
        #expect(client.chat("final").count == 1 && client.agent("tool").count == 1)
    }

    @Test
    func `March tells the next message what became of the command`() throws {
        let bench = try GatewayBench(.march)
        let client = bench.client()
        client.chatSend("approve echo x", key: "a")
        bench.run(ms: 100)
        let id = try #require(asked(client))
        #expect(resolve(client, id, "allow-once") == nil)
        bench.run(ms: 1_000)
        client.chatSend("hello", key: "b")
        bench.run(ms: 1_000)
        let rows = client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.elements.map { $0 } ?? []
        let text = rows.last { $0["role"]?.string == "user" }?.messageText ?? ""
        #expect(
            text.hasPrefix("System: [2027-01-15 08:00:")
                && text.contains("Exec finished (gateway id=\(id), session=demo-brook, code 0)\nx\n")
        )
        #expect(text.hasSuffix("\n\n[Fri 2027-01-15 08:00 UTC] hello"))
    }

    @Test
    func `a restart forgets what waits`() throws {
        let bench = try GatewayBench(faults: [:]) {
            $0.speed = 1
            try? $0.set("release", to: "2026.6.11")
        }
        let client = bench.client()
        client.chatSend("approve echo x", key: "a")
        bench.run(ms: 5_000)
        let id = try #require(asked(client))
        try bench.control("POST", "/demo/restart?keep=true&crash=true&down=1000")
        bench.run(ms: 10_000)
        let later = bench.client()
        #expect(list(later).isEmpty)
        #expect(resolve(later, id, "deny") == "unknown or expired approval id")
    }
}
