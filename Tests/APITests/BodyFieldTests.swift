import Access
import Basics
import HTTPModel
import JSONBytes
import TestSupport
import Testing

@testable import API

/// One rule for the fields of every body: unknown ones are ignored, except in a PATCH, in what grants or limits something,
/// and where no known one is there.
@Suite struct BodyFieldTests {
    @Test(arguments: [
        ("POST", "/v1/tickets", #"{"paht":"/v1/events"}"#, "paht", "path"),
        ("POST", "/v1/tokens", #"{"scoops":["read"]}"#, "scoops", "scopes"),
        ("POST", "/v1/pairing", #"{"nmae":"x","colour":1}"#, "nmae", "name"),
        ("POST", "/v1/pairing/approve", #"{"coed":"x"}"#, "coed", "code"),
        ("POST", "/v1/messages", #"{"txt":"x"}"#, "txt", "text"),
        ("POST", "/v1/sessions", #"{"labl":"x"}"#, "labl", "label"),
        ("POST", "/v1/wake", #"{"txet":"x"}"#, "txet", "text"),
        ("PUT", "/v1/notifications/quiet-hours", #"{"form":"21:00"}"#, "form", "from"),
        ("PATCH", "/v1/notifications/rules/standard", #"{"enabeld":true}"#, "enabeld", "enabled"),
        ("PUT", "/v1/identity", #"{"markdwon":"x"}"#, "markdwon", "markdown"),
        ("PUT", "/v1/profile", #"{"fields":{"nmae":"x"}}"#, "nmae", "name"),
    ])
    func `of a body that holds no field there is, the unknown one and its neighbour are named`(
        method: String,
        path: String,
        body: String,
        field: String,
        near: String
    ) async throws {
        try await withAPI { api, loop in
            let answer = try await api.request(method, path, Field.json + ["If-Match: *"], body: body, on: loop)
            #expect(answer.status == 422, "\(answer)")
            #expect(answer["field"] == field)
            let told = [answer.json["detail"]?.string, answer.json["hint"]?.string].compactMap(\.self).joined()
            #expect(told.contains(near), "\(answer)")
        }
    }

    @Test func `unknown fields beside known ones are ignored`() async throws {
        try await withAPI(.demo) { api, loop in
            let bodies = [
                ("PUT", "/v1/identity", #"{"name":"Ann","colour":"red"}"#, 200),
                ("PUT", "/v1/profile", #"{"fields":{"name":"Ann","colour":"red"},"etag":"x"}"#, 200),
                ("POST", "/v1/sessions", #"{"label":"Den","colour":"red"}"#, 201),
                ("POST", "/v1/wake", #"{"text":"wash","colour":"red"}"#, 202),
                ("PATCH", "/v1/identity", #"{"name":"Ann","colour":"red"}"#, 422),
                ("PATCH", "/v1/notifications/rules/standard", #"{"enabled":true,"colour":"red"}"#, 422),
                ("PATCH", "/v1/sessions/main", #"{"label":"Den","colour":"red"}"#, 422),
            ]
            for (method, path, body, status) in bodies {
                let fields = Field.json + ["If-Match: *"]
                let answer = try await api.request(method, path, fields, body: body, on: loop)
                #expect(answer.status == status, "\(method) \(path): \(answer)")
                if status == 422 { #expect(answer["code"] == "INVALID_FIELD" && answer["field"] == "colour") }
            }
        }
    }

    /// A misspelt limit that is passed over makes a token without one.
    @Test(arguments: [
        ("/v1/tokens", #"{"name":"x","scopes":["read"],"path":["/v1/glance"]}"#, "path", "paths"),
        ("/v1/tokens", #"{"name":"x","scopes":["read"],"session":["main"]}"#, "session", "sessions"),
        ("/v1/tokens", #"{"name":"x","scopes":["read"],"expires":"2030-01-31T12:00:00Z"}"#, "expires", "expiresAt"),
        ("/v1/pairing", #"{"name":"x","scopes":["read"],"path":["/v1/glance"]}"#, "path", "paths"),
        ("/v1/pairing/approve", #"{"code":"x","scope":["read"]}"#, "scope", "scopes"),
        ("/v1/pairing/reject", #"{"code":"x","colour":"red"}"#, "colour", "code"),
        ("/v1/pairing/invitations", #"{"name":"x","scope":["read"]}"#, "scope", "scopes"),
        ("/v1/tickets", #"{"path":"/v1/events","colour":"red"}"#, "colour", "path"),
        ("/v1/notifications/rules", #"{"name":"x","types":["run.failed"],"session":["main"]}"#, "session", "sessions"),
        (
            "/v1/notifications/sinks", #"{"name":"x","kind":"ntfy","url":"https://n","topic":"t","details":"private"}"#,
            "details", "detail"
        ),
        ("/v1/notifications/mute", #"{"forSeconds":60,"colour":"red"}"#, "colour", "forSeconds"),
        ("/v1/approvals/a", #"{"decision":"deny","commandSha":"x"}"#, "commandSha", "commandSha256"),
    ])
    func `a body that grants or limits something is refused with an unknown field`(
        path: String,
        body: String,
        field: String,
        near: String
    ) async throws {
        try await withAPI(.demo) { api, loop in
            let answer = try await api.post(path, Field.json, body, on: loop)
            #expect(answer.status == 422 && answer["code"] == "INVALID_FIELD", "\(answer)")
            #expect(answer["field"] == field && answer["hint"]?.contains(near) == true, "\(answer)")
            let hours = #"{"from":"21:00","colour":"red"}"#
            let fields = Field.json + ["If-Match: *"]
            let window = try await api.request("PUT", "/v1/notifications/quiet-hours", fields, body: hours, on: loop)
            #expect(window.status == 422)
        }
    }

    @Test(
        arguments: RouteTable.routes.filter { route in
            guard case .upTo(_, let types) = route.body else { return route.body == .message }
            return types.contains(.json)
        }.map(\.operation)
    )
    func `no route takes a body without any field that it knows`(operation: String) async throws {
        let route = try #require(RouteTable.routes.first { $0.operation == operation })
        try await withAPI(.demo) { api, loop in
            let path = route.path.replacingText("{id}", with: "standard").replacingText("{key}", with: "main")
            let fields = Field.json + ["If-Match: *", "Idempotency-Key: k"]
            let answer = try await api.request(route.method.name, path, fields, body: #"{"zzz":1}"#, on: loop)
            // A resource that does not exist may be missed before the body is read.
            guard answer.status != 404 else { return }
            #expect(answer.status == 422 && answer["code"] == "INVALID_FIELD", "\(answer)")
            #expect(answer["field"] == "zzz")
            #expect(answer["hint"]?.contains("The fields are ") == true)
        }
    }
}
