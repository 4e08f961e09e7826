import HTTPModel
import TestSupport
import Testing

@testable import API

/// One check of an agent's id for all routes, and one answer.
@Suite struct AgentParameterTests {
    @Test(
        arguments: RouteTable.routes.filter { $0.query.contains("agent") }.map(\.operation),
        ["..%2Fetc", "Main", "-scout", "", String(repeating: "a", count: 65)]
    )
    func `an id that no agent has is a bad parameter everywhere`(operation: String, id: String) async throws {
        let route = try #require(RouteTable.routes.first { $0.operation == operation })
        try await withAPI(.demo) { api, loop in
            let isPicture = operation == "putAvatar"
            let fields = [isPicture ? "Content-Type: image/png" : "Content-Type: application/json", "If-Match: *"]
            let body = route.body == .none ? nil : isPicture ? "x" : #"{"name":"Ann"}"#
            let path = "\(route.path)?agent=\(id)"
            let answer = try await api.request(route.method.name, path, fields, body: body, on: loop)
            #expect(answer.status == 400 && answer["code"] == "BAD_PARAMETER", "\(answer)")
            #expect(answer["field"] == "agent")
            #expect(answer["detail"] == "`agent` is an agent's id: small letters, digits, _ and -, at most 64.")
        }
    }

    @Test func `in a body it is a field with the same rule`() async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.post("/v1/sessions", Field.json, #"{"agent":"Main"}"#, on: loop)
            #expect(answer.status == 422 && answer["code"] == "INVALID_FIELD" && answer["field"] == "agent")
            #expect(answer["detail"] == "`agent` is an agent's id: small letters, digits, _ and -, at most 64.")
        }
    }
}
