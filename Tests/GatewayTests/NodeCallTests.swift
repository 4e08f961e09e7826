import JSONBytes
import TestSupport
import Testing

@testable import Gateway

/// Nodes and waiting devices: recorded answers, and edge cases.
struct NodeCallTests {
    private static let versions = ["2026.3.1", "2026.6.11"]

    private func frames(_ name: String, _ version: String) throws -> [JSONValue] {
        try TestData.bytes("captures-control/\(name).v\(version).jsonl").split(separator: 0x0A).compactMap { line in
            try JSONDocument(parsing: Array(line), limits: .gateway).root["frame"]
        }
    }

    /// Each answer of a recording, with the request that it answers.
    private func answers(_ name: String, _ version: String) throws -> [(
        method: String, params: JSONValue?, payload: JSONValue?, error: JSONValue?
    )] {
        var requests: [String: JSONValue] = [:]
        var found: [(String, JSONValue?, JSONValue?, JSONValue?)] = []
        for frame in try frames(name, version) {
            guard let id = frame["id"]?.string else { continue }
            guard frame["type"]?.equals("res") == true else {
                requests[id] = frame
                continue
            }
            guard let request = requests[id], let method = request["method"]?.string else { continue }
            found.append((method, request["params"], frame["payload"], frame["error"]))
        }
        return found
    }

    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: text).root }

    @Test(arguments: versions)
    func `recorded lists show what a node may do and whether it is there`(_ version: String) throws {
        let lists = try answers("node-flow", version).filter { $0.method == "node.list" }.compactMap(\.payload).map {
            try NodeList.output(from: $0)
        }
        let (first, last) = (try #require(lists.first?.first), try #require(lists.last?.first))
        #expect(first.name == "Probe Node" && first.isConnected && first.isPaired && first.connectedAt != nil)
        #expect(!last.isConnected && last.platform == "linux")
        if version == "2026.3.1" {
            #expect(first.commands == ["system.notify", "system.run"] && !first.isPending)
            #expect(last.commands.isEmpty)
        } else {
            // The node shows its commands once the operator has approved them.
            #expect(first.commands.isEmpty && first.pendingCommands == ["system.notify"] && first.isPending)
            #expect(last.commands == ["system.notify"] && !last.isPending && last.lastSeenAt != nil)
        }
    }

    @Test(arguments: versions)
    func `recorded refusals are told apart`(_ version: String) throws {
        var told: [String: NodeRefusal.Reason] = [:]
        for answer in try answers("node-flow", version) where answer.method == "node.invoke" {
            guard let error = answer.error else { continue }
            let refusal = try #require(GatewayError(error).nodeRefusal)
            told["\(answer.params?["command"]?.string ?? "") \(told.count)"] = refusal.reason
        }
        #expect(told["camera.snap 0"] == .notAllowed && told["camera.clip 2"] == .notAllowed)
        #expect(told["system.notify 1"] == .permission("unnamed"))
        #expect(told.values.contains(.offline))
        let unknown = try answers("node.describe", version).compactMap { $0.error.map { GatewayError($0).nodeRefusal } }
        #expect(unknown.map { $0?.reason } == [.unknownNode])
        let invalid = try answers("node.invoke", version).last?.error.map { GatewayError($0) }
        #expect(invalid?.code == "INVALID_REQUEST" && invalid?.nodeRefusal == nil)
    }

    @Test func `a recorded answer has its payload as text and as value`() throws {
        let answered = try answers("node-flow", "2026.3.1").first { $0.method == "node.invoke" && $0.payload != nil }
        let answer = try NodeInvoke.output(from: try #require(answered?.payload))
        #expect(answer.text?.hasPrefix(#"{"format": "jpg""#) == true && answer.value?["width"]?.int == 1)
    }

    @Test(arguments: [
        ("NODE_BACKGROUND_UNAVAILABLE", NodeRefusal.Reason.background),
        ("LOCATION_BACKGROUND_UNAVAILABLE", .background),
        ("CAMERA_PERMISSION_REQUIRED", .permission("camera")), ("CAMERA_DISABLED", .permission("camera")),
        ("LOCATION_TIMEOUT", .timeout), ("TIMEOUT", .timeout), ("PAYLOAD_TOO_LARGE", .failed), ("x", .failed),
    ])
    func `a node's own codes are understood`(code: String, reason: NodeRefusal.Reason) throws {
        let error = try json(
            #"{"code":"UNAVAILABLE","message":"m","details":{"nodeError":{"code":"\#(code)","message":"why"}}}"#
        )
        let refusal = try #require(GatewayError(error).nodeRefusal)
        #expect(refusal == NodeRefusal(reason: reason, nodeCode: code, nodeMessage: "why"))
    }

    @Test func `a queued command names what waits`() throws {
        let error = try json(
            #"{"code":"UNAVAILABLE","message":"node command queued until iOS returns to foreground","details":"#
                + #"{"code":"QUEUED_UNTIL_FOREGROUND","queuedActionId":"q1","nodeError":{"code":"NODE_BACKGROUND_UNAVAILABLE"}}}"#
        )
        #expect(GatewayError(error).nodeRefusal?.reason == .queued(actionId: "q1"))
        #expect(GatewayError(error).nodeRefusal?.nodeCode == "NODE_BACKGROUND_UNAVAILABLE")
    }

    @Test func `rows without a usable id are left out, and addresses are not read`() throws {
        let rows =
            #"{"nodes":[{},{"nodeId":""},{"nodeId":"a\u202eb"},{"nodeId":7},"x",{"nodeId":"good","remoteIp":"10.1.2.3","#
            + #""pathEnv":"/home/me","commands":["a.b","a.b",7,"x\u0000"],"permissions":{"camera":true,"odd":"yes"}}]}"#
        let found = try NodeList.output(from: try json(rows))
        #expect(found.map(\.id) == ["good"] && found[0].commands == ["a.b"] && found[0].permissions.count == 1)
        let shown = String(reflecting: found)
        #expect(!shown.contains("10.1.2.3") && !shown.contains("/home/me"))
        #expect(throws: GatewayShapeError.self) { try NodeList.output(from: json("{}")) }
    }

    @Test(arguments: versions)
    func `recorded devices that wait are read, and their decision`(_ version: String) throws {
        let listed = try answers("device.pair.approve", version).first { $0.method == "device.pair.list" }?.payload
        let pending = try DevicePairList.output(from: try #require(listed))
        #expect(pending.map(\.name) == ["Ladle"] && pending[0].kind == .device && !pending[0].isRepair)
        #expect(pending[0].roles == ["operator"] && pending[0].scopes == ["operator.read", "operator.write"])
        #expect(!String(reflecting: pending).contains("10.77.0.1"))
        let event = try #require(try frames("device.pair.approve", version).first { $0["event"] != nil })
        guard case .pairing(let told) = GatewayEvent(name: "device.pair.resolved", event).payload else {
            Issue.record("no pairing event")
            return
        }
        #expect(told.requestId == pending[0].id && told.decision == "approved" && told.request == nil)
    }

    @Test func `a recorded node that waits is read`() throws {
        let listed = try answers("node-flow", "2026.6.11").first { $0.method == "node.pair.list" }?.payload
        let pending = try NodePairList.output(from: try #require(listed))
        #expect(pending.map(\.kind) == [.node] && pending[0].name == "Probe Node" && pending[0].device != nil)
    }

    @Test func `a call holds what the node gets and nothing else`() throws {
        let call = NodeInvoke(
            node: "n",
            command: "system.notify",
            members: Array(#"{"title":"x"}"#.utf8),
            waitMs: 3_000,
            key: "k"
        )
        #expect(
            String(decoding: call.params, as: UTF8.self)
                == #"{"nodeId":"n","command":"system.notify","params":{"title":"x"},"timeoutMs":3000,"idempotencyKey":"k"}"#
        )
        #expect(call.timeoutMs > 3_000)
    }
}
