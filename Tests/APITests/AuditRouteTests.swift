import Access
import HTTPModel
import JSONBytes
import TestSupport
import Testing

@testable import API

/// Every change of state leaves exactly one line: caller, operation, target and result, with texts only as hashes.
struct AuditRouteTests {
    private let folder: ScratchDirectory
    private let audit: AuditTrail

    init() throws {
        folder = try ScratchDirectory()
        audit = AuditTrail(path: folder.file("audit.log"), limit: 1 << 20, keep: 2) { Issue.record("\($0)") }
    }

    /// The lines written so far.
    private func lines() async throws -> [JSONValue] {
        await audit.finish()
        #expect(try folder.mode(of: "audit.log") == 0o600)
        return try folder.bytes(of: "audit.log").split(separator: 0x0A).map {
            try JSONDocument(parsing: Array($0)).root
        }
    }

    private func path(_ route: Route) -> String {
        route.parts.map { part in
            switch part {
            case .literal(let text): "/\(text)"
            case .parameter: "/00000000-0000-7000-8000-000000000000"
            }
        }.joined()
    }

    @Test func `every route that changes something leaves one line, done or refused`() async throws {
        try await withAPI(.init(limits: [.pairing: .perMinute(100)], audit: audit, demo: { _ in })) { api, loop in
            let limited = try await api.token("nodes", on: loop).bearer
            let routes = RouteTable.routes.filter { $0.method != .get && $0.operation != "actOnApproval" }
            #expect(routes.count > 15)
            for route in routes {
                let body = route.scope == nil ? #"{"name":"a","scopes":["read"]}"# : route.body == .none ? nil : "{}"
                for fields in [["X-Proof: owner"], limited] {
                    _ = try await api.request(route.method.name, path(route), Field.json + fields, body: body, on: loop)
                }
                // A caller without an identity changes nothing, and must not fill the file.
                let refused = route.scope == nil ? "{}" : body
                _ = try await api.request(
                    route.method.name,
                    path(route),
                    Field.json + ["Via: x"],
                    body: refused,
                    on: loop
                )
            }
            for route in RouteTable.routes where route.method == .get && route.operation != "streamEvents" {
                _ = try await api.get(path(route), on: loop)
            }
            let found = try await lines()
            for route in routes {
                let own = found.filter { $0["what"]?.equals(route.operation) ?? false }
                let expected = route.operation == "createToken" ? 3 : 2
                #expect(
                    own.count == expected,
                    "\(route.operation): \(own.map { String(decoding: $0.raw, as: UTF8.self) })"
                )
                for line in own {
                    #expect(line["who"]?.string != nil && line["result"]?.string != nil && line["at"]?.string != nil)
                    #expect(line["requestId"]?.string?.hasPrefix("req-") == true)
                }
                guard let scope = route.scope, scope != .nodes else { continue }
                let refused = own.contains { $0["code"]?.equals("MISSING_SCOPE") ?? false }
                #expect(refused, "\(route.operation): the line of the caller without \(scope)")
            }
            #expect(found.count == routes.count * 2 + 1)
        }
    }

    @Test func `lines say what was done, and of texts hash and length`() async throws {
        try await withAPI(.init(audit: audit, demo: { _ in })) { api, loop in
            let words = "a very private text"
            let body = #"{"text":"\#(words)"}"#
            let waited = try await api.post("/v1/messages?wait=20", Field.json, body, on: loop)
            let sent = try #require(waited.json["entry"]?["id"]?.string)
            let streamed = try await api.post(
                "/v1/messages",
                Field.json + ["Accept: text/event-stream"],
                body,
                on: loop
            )
            #expect(streamed.status == 200)
            let applied = try await api.post("/v1/pairing", Field.json, #"{"name":"p","scopes":["read"]}"#, on: loop)
            let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
            #expect(try await api.get("/v1/pairing/\(id)", on: loop).status == 200)
            #expect(
                try await api.post("/v1/pairing/approve", Field.json, #"{"code":"\#(code)"}"#, on: loop).status == 200
            )
            let collected = try await api.get("/v1/pairing/\(id)", on: loop)
            let (token, tokenID) = (try #require(collected["token"]), try #require(collected["id"]))
            let bearer = ["Authorization: Bearer \(token)"]
            _ = try await api.post("/v1/messages", bearer + Field.json, body, on: loop)
            // A secret in place of an id is not written to the log.
            #expect(try await api.request("DELETE", "/v1/tokens/\(token)", on: loop).status == 404)
            let found = try await lines()
            let texts = found.map { String(decoding: $0.raw, as: UTF8.self) }
            let sends = found.filter {
                $0["what"]?.equals("sendMessage") ?? false && $0["result"]?.equals("done") ?? false
            }
            #expect(sends.count == 2)
            #expect(sends.first?["which"]?.string == sent)
            for line in sends {
                #expect(line["textBytes"]?.int == Int64(body.utf8.count))
                #expect(line["textSha256"]?.string?.count == 64)
            }
            #expect(texts.contains { $0.contains(#""what":"applyForPairing","which":"\#(code)","result":"done""#) })
            #expect(texts.contains { $0.contains(#""what":"approvePairing","which":"\#(code)","result":"done""#) })
            #expect(texts.contains { $0.contains(#""what":"pollPairing","which":"\#(tokenID)","result":"done""#) })
            #expect(found.filter { $0["what"]?.equals("pollPairing") ?? false }.count == 1)
            #expect(texts.contains { $0.contains(#""who":"token:\#(tokenID)""#) })
            for text in texts { #expect(!text.contains(words) && !text.contains(token) && !text.contains(id)) }
        }
    }

    @Test func `a caller who hangs up before the answer leaves a line too`() async throws {
        try await withAPI(.init(audit: audit)) { api, loop in
            api.bench.journal.hold()
            let body = #"{"name":"gone","scopes":["read"]}"#
            let request = try await api.open("POST", "/v1/tokens", Field.json, body: body, on: loop)
            request.leave(on: loop)
            api.bench.journal.release()
            try await api.bench.settle(on: loop)
            #expect(try await api.get("/v1/tokens", on: loop).body.contains(#""name":"gone""#))
            #expect(try await lines().map { $0["what"]?.string } == ["createToken"])
        }
    }

    @Test func `nobody pushes lines out of the file by asking for what he may not have`() async throws {
        try await withAPI(.init(audit: audit, demo: { _ in })) { api, loop in
            let bearer = try await api.token("read", on: loop).bearer
            for _ in 0..<120 {
                _ = try await api.request("DELETE", "/v1/tokens/x", bearer, on: loop)
                _ = try await api.post("/v1/pairing", Field.json, "{}", on: loop)
            }
            let found = try await lines()
            let refused = found.filter { $0["result"]?.equals("refused") ?? false }
            #expect(refused.count == 60)
            #expect(refused.allSatisfy { $0["who"]?.string?.hasPrefix("token:") ?? false })
            #expect(found.contains { $0["what"]?.equals("createToken") ?? false })
        }
    }
}
