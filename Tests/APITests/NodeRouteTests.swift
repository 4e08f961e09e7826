import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

struct NodeRouteTests {
    private static let phone = "0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23"
    private static let mac = "1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034"

    @Test(arguments: DemoRelease.allCases)
    func `nodes are listed with their commands, without addresses`(_ release: DemoRelease) async throws {
        try await withAPI(APIBench.Setup(demo: { $0.release = release })) { api, loop in
            let list = try await api.get("/v1/nodes", on: loop)
            #expect(list.json["nodes"]?.elements.map { $0["id"]?.string } == [Self.phone, Self.mac], "\(list.body)")
            #expect(list.json["live"]?.bool == true && list.field("etag") != nil)
            #expect(!list.body.contains("192.168.") && !list.body.contains("/home/"))
            let one = try await api.get("/v1/nodes/\(Self.mac)", on: loop)
            let commands = one.json["commands"]?.elements.map { $0 } ?? []
            let why = { (name: String) in commands.first { $0["name"]?.string == name }?["why"]?.string }
            #expect(why("system.run") == "ladle_policy" && why("device.info") == "not_declared")
            #expect(commands.first { $0["name"]?.string == "system.notify" }?["allowed"]?.bool == true)
            #expect(try await api.get("/v1/nodes/nobody", on: loop)["code"] == "NODE_NOT_FOUND")
            let same = try await api.get("/v1/nodes", ["If-None-Match: \(list.field("etag") ?? "")"], on: loop)
            #expect(same.status == 304)
            let names = try await api.get("/v1/status", on: loop).json["link"]?["features"]?.elements.map { $0.string }
            #expect(names?.contains("nodes") == true)
        }
    }

    @Test func `a token limited to sessions sees no node and no event`() async throws {
        try await withAPI(.demo) { api, loop in
            let more = #","sessions":["agent:main:main"]"#
            let bound = try await api.token("read", "nodes", more: more, on: loop).bearer
            for path in ["/v1/nodes", "/v1/nodes/\(Self.phone)"] {
                #expect(try await api.get(path, bound, on: loop)["code"] == "SESSION_NOT_ALLOWED")
            }
            let sender = try await api.token("send", on: loop).bearer
            #expect(try await api.get("/v1/nodes", sender, on: loop).status == 403)
        }
    }

    @Test func `while a stream shows the event the gateway is asked`() async throws {
        try await withAPI(.demo) { api, loop in
            let asked = { api.gateway.requests("node.list").count }
            let stream = try await api.open("GET", "/v1/events?types=node", Field.stream, on: loop)
            #expect(asked() == 1)
            try await api.advance(45_000, on: loop)
            #expect(asked() == 2)
            let model = try #require(api.demo?.gateway.core as? DemoGatewayModel)
            #expect(model.setNode("Mac", isConnected: false))
            try await api.advance(45_000, on: loop)
            #expect(stream.text.contains("event: node") && stream.text.contains(#""reason":"disconnected""#))
            let other = try await api.open("GET", "/v1/events?types=outbox", Field.stream, on: loop)
            #expect(!other.text.contains("event: node"))
        }
    }

    @Test func `without a gateway the last list is answered`() async throws {
        try await withAPI(.away) { api, loop in
            let list = try await api.get("/v1/nodes", on: loop)
            #expect(list.status == 200 && list.json["live"]?.bool == false && list.json["asOf"] != nil)
            #expect(list.json["nodes"]?.count == 0)
        }
    }
}
