import Basics
import EventLoops
import JSONBytes
import Observability
import TestSupport
import Testing

/// The log of gateway frames over HTTP.
struct FrameRouteTests {
    @Test func `without a log there is none to show, and only admins see one`() async throws {
        try await withAPI { api, loop in
            let answer = try await api.get("/v1/debug/frames", on: loop)
            #expect(answer.status == 404)
            #expect(answer["code"] == "FRAME_LOG_OFF")
            #expect(answer["hint"] == "ladle serve --debug-frames")
            api.gateway.frames = []
            let bearer = try await api.token("read", "send", "identity", "control", on: loop).bearer
            let refused = try await api.get("/v1/debug/frames", bearer, on: loop)
            #expect(refused.status == 403)
            #expect(refused.json["requiredScopes"]?[0]?.string == "admin")
            #expect(try await api.get("/v1/debug/frames", on: loop).status == 200)
        }
    }

    @Test func `the report about the gateway has names and numbers alone, and only admins see it`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.get("/v1/debug/gateway", on: loop)
            #expect(answer.status == 200)
            #expect(answer.json["state"]?.string == "online" && answer.json["protocol"]?.int == 4)
            #expect(answer.json["methods"]?.elements.contains { $0.equals("chat.send") } == true)
            #expect(answer.json["conduct"]?.string == "june" && answer.json["tried"]?.bool == true)
            let reader = try await api.token("read", "send", "identity", "control", on: loop).bearer
            #expect(try await api.get("/v1/debug/gateway", reader, on: loop).status == 403)
        }
    }

    @Test func `the list is read page by page`() async throws {
        try await withAPI { api, loop in
            api.gateway.frames = (41...540).map {
                LoggedFrame(number: $0, at: loop.wallClock, direction: .inbound, size: 2, frame: Array("{}".utf8))
            }
            let page = try await api.get("/v1/debug/frames?limit=10", on: loop).json
            #expect(page["frames"]?.elements.compactMap { $0["number"]?.int } == Array(531...540))
            #expect(page["before"]?.int == 531)
            let older = try await api.get("/v1/debug/frames?limit=10&before=531", on: loop).json
            #expect(older["frames"]?.elements.compactMap { $0["number"]?.int } == Array(521...530))
            #expect(try await api.get("/v1/debug/frames?limit=500", on: loop).json["frames"]?.count == 500)
            #expect(try await api.get("/v1/debug/frames?limit=501", on: loop).status == 400)
            #expect(try await api.get("/v1/debug/frames?since=x", on: loop).status == 400)
        }
    }
}
