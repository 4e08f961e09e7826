import Access
import Basics
import EventLoops
import JSONBytes
import TestSupport
import Testing

@testable import API

/// Two devices of one person with different scopes: nothing that is kept for one is given to the other.
struct CallerIdentityTests {
    private static let setup: APIBench.Setup = {
        var setup = APIBench.Setup.away
        setup.tailnet = TailnetPolicy(
            grants: [
                .init(match: .login("ann@example.com"), scopes: [.read, .send]),
                .init(match: .capability("example.com/cap/admin"), scopes: .admin),
            ]
        )
        return setup
    }()

    private func device(
        _ node: String,
        at address: String,
        isAdmin: Bool = false,
        _ api: APIBench,
        on loop: isolated EventLoop
    ) throws -> APIBench.Place {
        let ip = try #require(NetworkAddress(address))
        let identity = TailnetIdentity(
            nodeID: node,
            nodeName: node,
            login: "ann@example.com",
            tags: [],
            capabilities: isAdmin ? ["example.com/cap/admin": []] : [:]
        )
        let question = WhoisQuestion(address: PeerAddress(ip: ip, port: 7))
        api.access.authenticator.learn(.known(identity), to: question, now: loop.wallClock)
        let here = try #require(NetworkAddress("100.64.0.1"))
        return APIBench.Place(user: nil, remote: .ip(ip, port: 7), local: .ip(here, port: APIBench.port))
    }

    @Test func `an answer that is kept for the device of an admin is not given to another device`() async throws {
        var setup = Self.setup
        setup.demo = { _ in }
        try await withAPI(setup) { api, loop in
            let admin = try device("laptop", at: "100.64.0.2", isAdmin: true, api, on: loop)
            let other = try device("phone", at: "100.64.0.3", api, on: loop)
            // The work of a job is shown to admins only.
            let whole = try await api.get("/v1/automations", from: admin, on: loop)
            let again = try await api.get("/v1/automations", from: admin, on: loop)
            let own = try await api.get("/v1/automations", from: other, on: loop)
            #expect(whole.status == 200 && own.status == 200 && again.body == whole.body)
            #expect(whole.body != own.body && own.json["automations"]?[0]?["work"] == nil)
        }
    }

    @Test func `limits, keys of repeats and read marks are those of one device`() async throws {
        try await withAPI(Self.setup) { api, loop in
            let laptop = try device("laptop", at: "100.64.0.2", isAdmin: true, api, on: loop)
            let phone = try device("phone", at: "100.64.0.3", api, on: loop)
            let tablet = try device("tablet", at: "100.64.0.4", api, on: loop)
            let fields = Field.text + ["Idempotency-Key: k1"]
            var ids: [String?] = []
            for place in [laptop, phone, tablet, phone] {
                let answer = try await api.post("/v1/messages", fields, "hello", from: place, on: loop)
                #expect(answer.status == 202)
                ids.append(answer["id"])
            }
            #expect(Set(ids.prefix(3)).count == 3 && ids[1] == ids[3])
            for _ in 0..<8 { _ = try await api.post("/v1/messages", Field.text, "x", from: phone, on: loop) }
            #expect(try await api.post("/v1/messages", Field.text, "x", from: phone, on: loop).status == 429)
            #expect(try await api.post("/v1/messages", Field.text, "x", from: tablet, on: loop).status == 202)
        }
    }
}
