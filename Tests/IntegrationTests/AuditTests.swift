import API
import Access
import Basics
import EventLoops
import Foundation
import HTTPModel
import JSONBytes
import Service
import TestSupport
import Testing

/// Every change of state leaves exactly one line: who, what, which, how it went, and of texts the hash alone.
@Suite(.serialized) struct AuditTests {
    private static let json = ["Content-Type: application/json"]

    /// Audit lines once the program has stopped, the oldest generation first.
    private func lines(_ ladle: LadleProcess) throws -> [JSONValue] {
        ladle.signal(SIGTERM)
        _ = ladle.waitForExit()
        var text = ""
        for name in (1...9).reversed().map({ "demo/audit.log.\($0)" }) + ["demo/audit.log"]
        where ladle.state.exists(name) {
            #expect(try ladle.state.mode(of: name) == 0o600, "\(name)")
            text += String(decoding: try ladle.state.bytes(of: name), as: UTF8.self)
        }
        return try text.split(separator: "\n").map { try JSONDocument(parsing: Array($0.utf8)).root }
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
        let ladle = try await LadleProcess(["--demo-speed", "0", "--limits-pairing-per-minute", "100"])
        let limited = try #require(
            try ladle.request("POST", "/v1/tokens", Self.json, body: #"{"name":"none","scopes":["nodes"]}"#)["token"]
        )
        let routes = RouteTable.routes.filter { $0.method != .get }
        #expect(routes.count > 15)
        for route in routes {
            let body = route.scope == nil ? #"{"name":"a","scopes":["read"]}"# : route.body == .none ? nil : "{}"
            for fields in [["X-Proof: owner"], ["Authorization: Bearer \(limited)"]] {
                _ = try ladle.request(route.method.name, path(route), Self.json + fields, body: body)
            }
            // Nobody in particular changes nothing, and fills no file.
            let refused = route.scope == nil ? "{}" : body
            _ = try ladle.request(route.method.name, path(route), Self.json + ["Via: x"], body: refused)
        }
        for route in RouteTable.routes where route.method == .get && route.operation != "streamEvents" {
            _ = try ladle.request("GET", path(route))
        }
        let found = try lines(ladle)
        for route in routes {
            let own = found.filter { $0["what"]?.equals(route.operation) ?? false }
            let expected = route.operation == "createToken" ? 3 : 2
            #expect(own.count == expected, "\(route.operation): \(own.map { String(decoding: $0.raw, as: UTF8.self) })")
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

    @Test func `lines say what was done, and of texts hash and length`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0"])
        let words = "a very private text"
        let body = #"{"text":"\#(words)"}"#
        let sent = try #require(try ladle.request("POST", "/v1/messages?wait=20", Self.json, body: body)["id"])
        let streamed = try ladle.request("POST", "/v1/messages", Self.json + ["Accept: text/event-stream"], body: body)
        #expect(streamed.status == 200)
        let applied = try ladle.request("POST", "/v1/pairing", Self.json, body: #"{"name":"p","scopes":["read"]}"#)
        let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
        #expect(try ladle.request("GET", "/v1/pairing/\(id)").status == 200)
        #expect(
            try ladle.request("POST", "/v1/pairing/approve", Self.json, body: #"{"code":"\#(code)"}"#).status == 200
        )
        let collected = try ladle.request("GET", "/v1/pairing/\(id)")
        let (token, tokenID) = (try #require(collected["token"]), try #require(collected["id"]))
        // A secret where an id belongs is not written down.
        #expect(try ladle.request("DELETE", "/v1/tokens/\(token)").status == 404)
        let found = try lines(ladle)
        let texts = found.map { String(decoding: $0.raw, as: UTF8.self) }
        let sends = found.filter { $0["what"]?.equals("sendMessage") ?? false }
        #expect(sends.count == 2)
        #expect(sends.first?["which"]?.string == sent)
        for line in sends {
            #expect(line["textBytes"]?.int == Int64(body.utf8.count))
            #expect(line["textSha256"]?.string?.count == 64)
            #expect(line["result"]?.equals("done") == true)
        }
        #expect(texts.contains { $0.contains(#""what":"applyForPairing","which":"\#(code)","result":"done""#) })
        #expect(texts.contains { $0.contains(#""what":"approvePairing","which":"\#(code)","result":"done""#) })
        #expect(texts.contains { $0.contains(#""what":"pollPairing","which":"\#(tokenID)","result":"done""#) })
        #expect(found.filter { $0["what"]?.equals("pollPairing") ?? false }.count == 1)
        for text in texts { #expect(!text.contains(words) && !text.contains(token) && !text.contains(id)) }
    }

    @Test func `whoever hangs up before the answer leaves his line too`() async throws {
        let ladle = try await LadleProcess()
        for number in 0..<20 {
            let socket = try ladle.connect()
            // Known as the owner before he goes.
            try socket.send(ladle.requestBytes("GET", "/v1/status"))
            _ = try socket.receive()
            let body = #"{"name":"n\#(number)","scopes":["read"]}"#
            try socket.send(ladle.requestBytes("POST", "/v1/tokens", Self.json, body: body))
            socket.close()
        }
        try eventually { try ladle.request("GET", "/v1/tokens").body.contains(#""name":"n19""#) ? () : nil }
        let made = try ladle.request("GET", "/v1/tokens").body.components(separatedBy: #""name":"n"#).count - 1
        let found = try lines(ladle)
        #expect(found.filter { $0["what"]?.equals("createToken") ?? false }.count == made)
        #expect(made == 20)
    }

    @Test func `the file is rotated at its size, and as many are kept as were asked for`() async throws {
        let ladle = try await LadleProcess(["--audit-max-bytes", "64KiB", "--audit-keep", "2"])
        for _ in 0..<700 {
            _ = try ladle.request("DELETE", "/v1/tokens/\(String(repeating: "n", count: 200))")
        }
        let found = try lines(ladle)
        let sizes = try ["demo/audit.log", "demo/audit.log.1", "demo/audit.log.2"].map {
            try ladle.state.bytes(of: $0).count
        }
        #expect(sizes.allSatisfy { $0 <= 64 << 10 })
        #expect(!ladle.state.exists("demo/audit.log.3"))
        #expect(found.count < 700 && found.count > 200)
    }

    @Test func `nobody pushes lines out of the file by asking for what he may not have`() async throws {
        let ladle = try await LadleProcess()
        let token = try #require(
            try ladle.request("POST", "/v1/tokens", Self.json, body: #"{"name":"t","scopes":["read"]}"#)["token"]
        )
        for _ in 0..<120 {
            _ = try ladle.request("DELETE", "/v1/tokens/x", ["Authorization: Bearer \(token)"])
            _ = try ladle.request("POST", "/v1/pairing", Self.json, body: "{}")
        }
        let found = try lines(ladle)
        let refused = found.filter { $0["result"]?.equals("refused") ?? false }
        #expect((60...80).contains(refused.count), "\(refused.count)")
        #expect(refused.allSatisfy { $0["who"]?.string?.hasPrefix("token:") ?? false })
        #expect(found.contains { $0["what"]?.equals("createToken") ?? false })
    }

    @Test func `no file where none is wanted`() async throws {
        let ladle = try await LadleProcess(["--audit-enabled=false"])
        _ = try ladle.request("DELETE", "/v1/tokens/none")
        #expect(try lines(ladle).isEmpty)
        #expect(!ladle.state.exists("demo/audit.log"))
    }
}
