import DemoGateway
import JSONBytes
import TestSupport
import Testing

struct ApprovalMemoryTests {
    @Test func `decisions are remembered, and a permission can be taken back`() throws {
        let bench = try GatewayBench(.october)
        let client = bench.client(caps: ["tool-events", "approvals"])
        client.chatSend("/exec ask=on-miss", key: "policy")
        bench.run(ms: 100)
        let asks = { (key: String) -> String? in
            let before = client.payloads("exec.approval.requested").count
            client.chatSend("approve echo x", key: key)
            bench.run(ms: 10)
            let all = client.payloads("exec.approval.requested")
            return all.count > before ? all.last?["id"]?.string : nil
        }
        let first = try #require(asks("a"))
        let schema = try DemoSchemaTests.schema("protocol-2026-10")
        let params = #"{"id":"\#(first)","kind":"exec","decision":"allow-always","grantExpiresInDays":1}"#
        let done = try #require(client.payload("approval.resolve", params))
        #expect(done["applied"]?.bool == true)
        #expect(schema.failure(done, "#/$defs/ApprovalResolveResult") == nil, "\(done.text)")
        #expect(client.payload("approval.resolve", params)?["applied"]?.bool == false)
        bench.run(ms: 10)
        #expect(asks("b") == nil, "the permission holds")
        let grant = try #require(client.payload("exec.approval.grants.list", "{}")?["grants"]?[0])
        #expect(grant["command"]?.string == "echo x" && grant["expiresAtMs"]?.int != nil)
        let id = #"{"grantId":"\#(grant["grantId"]?.string ?? "")"}"#
        #expect(client.payload("exec.approval.grants.revoke", id)?["outcome"]?.string == "revoked")
        #expect(client.payload("exec.approval.grants.revoke", id)?["outcome"]?.string == "already-revoked")
        let second = try #require(asks("c"))
        #expect(client.payload("approval.resolve", #"{"id":"\#(second)","kind":"exec","decision":"deny"}"#) != nil)
        let page = try #require(client.payload("approval.history", #"{"limit":1}"#))
        #expect(schema.failure(page, "#/$defs/ApprovalHistoryResult") == nil, "\(page.text)")
        #expect(page["items"]?[0]?["id"]?.string == second && page["nextCursor"]?.string == "1")
        let rest = client.payload("approval.history", #"{"limit":1,"cursor":"1"}"#)
        #expect(rest?["items"]?[0]?["id"]?.string == first && rest?["nextCursor"] == nil)
    }

    @Test func `usage is answered before the providers are, to clients that can ask again`() throws {
        let bench = try GatewayBench(.october)
        let client = bench.client(caps: ["tool-events", "usage-refreshing"])
        let cold = client.payload("usage.status", "{}")
        #expect(cold?["refreshing"]?.bool == true && cold?["providers"]?.count == 0)
        bench.run(ms: 5_000)
        #expect(client.payload("usage.status", "{}")?["refreshing"] == nil)
        #expect(client.payload("usage.status", "{}")?["providers"]?.count == 2)
    }

    @Test func `a cut row is given whole, alone`() throws {
        let bench = try GatewayBench(.october)
        let client = bench.client()
        client.chatSend("longtext 9000", key: "a")
        bench.run(ms: 1_000)
        let row = try #require(
            client.payload("chat.history", #"{"sessionKey":"main"}"#)?["messages"]?.elements.suffix(1).first
        )
        #expect(row.messageText?.hasSuffix("...(truncated)...") == true)
        let id = row["__openclaw"]?["id"]?.string ?? ""
        let whole = try #require(
            client.payload("chat.message.get", #"{"sessionKey":"main","messageId":"\#(id)","maxChars":100000}"#)
        )
        let schema = try DemoSchemaTests.schema("protocol-2026-10")
        #expect(schema.failure(whole, "#/$defs/ChatMessageGetResult") == nil)
        #expect(whole["message"]?.messageText?.utf8.count ?? 0 >= 9_000)
        let none = client.payload("chat.message.get", #"{"sessionKey":"main","messageId":"nobody"}"#)
        #expect(none?["ok"]?.bool == false)
    }
}
