import Basics
import Foundation
import JSONBytes
import TestSupport
import Testing

struct TokenTests {
    /// Another user's connection: only root can make one; elsewhere a forwarding field has the same effect.
    private func stranger(_ ladle: LadleProcess) -> [String] { ["X-Forwarded-For: 192.0.2.1"] }

    private func bearer(_ token: String) -> [String] { ["Authorization: Bearer \(token)"] }

    private let json = ["Content-Type: application/json"]

    private func create(_ ladle: LadleProcess, _ scopes: String, more: String = "") throws -> (
        id: String, token: String
    ) {
        let answer = try ladle.request(
            "POST",
            "/v1/tokens",
            json,
            body: #"{"name":"test","scopes":[\#(scopes)]\#(more)}"#
        )
        #expect(answer.status == 201, "\(answer)")
        return (try #require(answer["id"]), try #require(answer["token"]))
    }

    private func read(_ socket: BlockingSocket, until end: String) throws -> String {
        var text = ""
        while !text.contains(end) {
            let more = try socket.receive()
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        return text
    }

    @Test func `without a credential only the owner gets in, and refusals say how to get one`() async throws {
        let ladle = try await LadleProcess()
        #expect(try ladle.request("GET", "/v1/status").status == 200)
        let refused = try ladle.request("GET", "/v1/status", stranger(ladle))
        #expect(refused.status == 401)
        #expect(refused["code"] == "NOT_PAIRED")
        #expect(refused.field("WWW-Authenticate") == #"Bearer realm="ladle""#)
        #expect(try ladle.request("GET", "/healthz", stranger(ladle)).status == 200)
    }

    @Test func `another user of this host is refused, also when he hangs up first`() async throws {
        guard getuid() == 0 else { return }
        let ladle = try await LadleProcess()
        let other = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: 12_345)
        #expect(try ladle.request("GET", "/v1/status", on: other).status == 401)
        let gone = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: 12_345)
        try gone.send(ladle.requestBytes("POST", "/v1/tokens", json, body: #"{"name":"x","scopes":["admin"]}"#))
        gone.close()
        let tokens = try ladle.request("GET", "/v1/tokens").body
        #expect(!tokens.contains(#""name":"x""#))
    }

    @Test func `a wrong credential counts, for the owner too, with one text for all`() async throws {
        let ladle = try await LadleProcess()
        var bodies: Set<String> = []
        for value in ["Bearer x", "Bearer ldl_000", "Basic eDp5", "Bearer", "Bearer a, Bearer b", "x"] {
            let answer = try ladle.request("GET", "/v1/status", ["Authorization: \(value)"])
            #expect(answer.status == 401, "\(value): \(answer)")
            bodies.insert(answer["detail"] ?? "")
        }
        #expect(bodies.count == 1)
    }

    @Test func `a token may do what its scopes say, and its secret is stored nowhere`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""read""#)
        #expect(try ladle.request("GET", "/v1/status", bearer(token) + stranger(ladle)).status == 200)
        let refused = try ladle.request("POST", "/v1/messages", bearer(token) + json, body: #"{"text":"x"}"#)
        #expect(refused.status == 403)
        #expect(refused["code"] == "MISSING_SCOPE")
        #expect(refused.body.contains(#""requiredScopes":["send"]"#))
        let list = try ladle.request("GET", "/v1/tokens").body
        #expect(list.contains(id) && !list.contains(token))
        let rotated = try ladle.request("POST", "/v1/tokens/\(id)/rotate", json, body: "{}")
        let fresh = try #require(rotated["token"])
        #expect(try ladle.request("GET", "/v1/status", bearer(token)).status == 401)
        #expect(try ladle.request("GET", "/v1/status", bearer(fresh)).status == 200)
        #expect(try ladle.request("DELETE", "/v1/tokens/\(id)").status == 204)
        #expect(try ladle.request("GET", "/v1/status", bearer(fresh)).status == 401)
        #expect(try ladle.request("DELETE", "/v1/tokens/\(id)").status == 404)
        for name in try FileManager.default.subpathsOfDirectory(atPath: ladle.state.path) {
            guard let data = FileManager.default.contents(atPath: ladle.state.file(name)) else { continue }
            #expect(data.range(of: Data(token.utf8)) == nil, "\(name)")
        }
    }

    @Test func `revoking closes the token's streams at once and leaves the others`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""read""#)
        let (_, other) = try create(ladle, #""read""#)
        let mine = try ladle.connect()
        try mine.send(ladle.requestBytes("GET", "/v1/events", bearer(token)))
        #expect(try read(mine, until: "event: hello").contains("event: hello"))
        let theirs = try ladle.connect()
        try theirs.send(ladle.requestBytes("GET", "/v1/events?heartbeat=5", bearer(other)))
        #expect(try read(theirs, until: "event: hello").contains("event: hello"))
        #expect(try ladle.request("DELETE", "/v1/tokens/\(id)").status == 204)
        var rest = ""
        while case let more = try mine.receive(), !more.isEmpty { rest += String(decoding: more, as: UTF8.self) }
        #expect(rest.contains("token_revoked"))
        #expect(try !theirs.receive().isEmpty)
    }

    @Test func `a long poll ends with its token, and a token may end itself`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""admin""#)
        let poll = try ladle.connect()
        try poll.send(ladle.requestBytes("GET", "/v1/events?poll=60&types=reset", bearer(token)))
        // One connection after the other is served: the poll waits by now.
        #expect(try ladle.request("GET", "/readyz").status == 200)
        #expect(try ladle.request("DELETE", "/v1/tokens/\(id)", bearer(token)).status == 204)
        #expect(try read(poll, until: "}").hasPrefix("HTTP/1.1 401 "))
        poll.close()
    }

    @Test func `an expired token ends, and so do its streams`() async throws {
        let ladle = try await LadleProcess()
        let (_, token) = try create(ladle, #""read""#, more: #","expiresInSeconds":2"#)
        let stream = try ladle.connect()
        try stream.send(ladle.requestBytes("GET", "/v1/events", bearer(token)))
        #expect(try read(stream, until: "token_expired").contains("token_expired"))
        #expect(try ladle.request("GET", "/v1/status", bearer(token)).status == 401)
    }

    @Test func `tokens outlive a restart, and the first start leaves one for the owner`() async throws {
        let state = try ScratchDirectory()
        var token = ""
        do {
            let ladle = try await LadleProcess(state: state)
            token = try create(ladle, #""read""#).token
            ladle.signal(SIGTERM)
            #expect(ladle.waitForExit().code == 0)
        }
        let ladle = try await LadleProcess(state: state)
        #expect(try ladle.request("GET", "/v1/status", bearer(token)).status == 200)
        #expect(try state.mode(of: "demo/admin-token") == 0o600)
        let first = String(decoding: try state.bytes(of: "demo/admin-token"), as: UTF8.self)
        let answer = try ladle.request(
            "GET",
            "/v1/tokens",
            bearer(first.trimmingCharacters(in: .whitespacesAndNewlines)) + stranger(ladle)
        )
        #expect(answer.status == 200)
    }

    @Test func `a device is paired by its code and gets its token once`() async throws {
        let ladle = try await LadleProcess()
        let applied = try ladle.request(
            "POST",
            "/v1/pairing",
            json + stranger(ladle),
            body: #"{"name":"kitchen","scopes":["read","send"]}"#
        )
        #expect(applied.status == 202, "\(applied)")
        let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
        #expect(try ladle.request("GET", "/v1/pairing/\(id)", stranger(ladle))["status"] == "pending")
        #expect(try ladle.request("GET", "/v1/pairing", stranger(ladle)).status == 401)
        #expect(try ladle.request("GET", "/v1/pairing").body.contains(code))
        let body = #"{"code":"\#(code)","scopes":["read"]}"#
        #expect(try ladle.request("POST", "/v1/pairing/approve", json + stranger(ladle), body: body).status == 401)
        #expect(try ladle.request("POST", "/v1/pairing/approve", json, body: body).status == 200)
        #expect(try ladle.request("POST", "/v1/pairing/approve", json, body: body).status == 409)
        let collected = try ladle.request("GET", "/v1/pairing/\(id)", stranger(ladle))
        let token = try #require(collected["token"])
        #expect(try ladle.request("GET", "/v1/pairing/\(id)", stranger(ladle))["status"] == "delivered")
        #expect(try ladle.request("GET", "/v1/status", bearer(token) + stranger(ladle)).status == 200)
        #expect(try ladle.request("GET", "/v1/tokens", bearer(token)).status == 403)
        #expect(try ladle.request("GET", "/v1/pairing/nonsense", stranger(ladle)).status == 404)
    }

    @Test func `a ticket bought with a secret is void once that secret is replaced`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""read""#)
        let bought = try ladle.request("POST", "/v1/tickets", bearer(token) + json, body: #"{"path":"/v1/events"}"#)
        let ticket = try #require(bought["ticket"])
        #expect(try ladle.request("POST", "/v1/tokens/\(id)/rotate", json, body: "{}").status == 200)
        let used = try ladle.request("GET", "/v1/events?ticket=\(ticket)&poll=0", stranger(ladle))
        #expect(used.status == 401)
    }

    @Test func `tickets are so many a minute, however fast they are used`() async throws {
        let ladle = try await LadleProcess()
        let (_, token) = try create(ladle, #""read""#)
        var statuses: [Int] = []
        for _ in 0..<70 {
            let bought = try ladle.request("POST", "/v1/tickets", bearer(token) + json, body: #"{"path":"/v1/events"}"#)
            statuses.append(bought.status)
            guard let ticket = bought["ticket"] else { continue }
            #expect(try ladle.request("GET", "/v1/events?ticket=\(ticket)&poll=0", stranger(ladle)).status == 200)
        }
        #expect(statuses == Array(repeating: 201, count: 64) + Array(repeating: 429, count: 6))
    }

    @Test func `a token that is rotated under a waiting poll gets its place for streams back`() async throws {
        let ladle = try await LadleProcess(["--events-streams-per-caller", "1"])
        var (id, token) = try create(ladle, #""read""#)
        for _ in 0..<3 {
            let poll = try ladle.connect()
            try poll.send(ladle.requestBytes("GET", "/v1/events?poll=60&types=reset", bearer(token)))
            #expect(try ladle.request("GET", "/readyz").status == 200)
            let rotated = try ladle.request("POST", "/v1/tokens/\(id)/rotate", json, body: "{}")
            token = try #require(rotated["token"])
            #expect(try read(poll, until: "}").hasPrefix("HTTP/1.1 401 "))
            poll.close()
        }
    }

    @Test func `a body that was on its way when its token ended changes nothing`() async throws {
        let ladle = try await LadleProcess()
        for end in ["DELETE", "POST"] {
            let (id, token) = try create(ladle, #""send""#)
            let body = #"{"text":"too late"}"#
            let bytes = ladle.requestBytes("POST", "/v1/messages", bearer(token) + json, body: body)
            let socket = try ladle.connect()
            try socket.send(Array(bytes.dropLast(4)))
            #expect(try ladle.request("GET", "/readyz").status == 200)
            let path = "/v1/tokens/\(id)" + (end == "POST" ? "/rotate" : "")
            #expect(try ladle.request(end, path, json, body: end == "POST" ? "{}" : nil).status < 300)
            try socket.send(Array(bytes.suffix(4)))
            #expect(try read(socket, until: "}").hasPrefix("HTTP/1.1 401 "))
        }
        #expect(try !ladle.request("GET", "/v1/outbox").body.contains("too late"))
    }

    @Test func `a request whose end came after its token's, without a body, is refused`() async throws {
        let ladle = try await LadleProcess()
        for byTicket in [false, true] {
            let (id, token) = try create(ladle, #""read""#)
            let bought = try ladle.request("POST", "/v1/tickets", bearer(token) + json, body: #"{"path":"/v1/outbox"}"#)
            let ticket = try #require(bought["ticket"])
            let path = byTicket ? "/v1/outbox?ticket=\(ticket)" : "/v1/outbox"
            let who = byTicket ? stranger(ladle) : bearer(token)
            let socket = try ladle.connect()
            try socket.send(ladle.requestBytes("GET", path, who + ["Transfer-Encoding: chunked"]))
            #expect(try ladle.request("GET", "/readyz").status == 200)
            #expect(try ladle.request("DELETE", "/v1/tokens/\(id)").status == 204)
            try socket.send(Array("0\r\n\r\n".utf8))
            #expect(try read(socket, until: "}").hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func `a page that waits for its turn is nothing for a token that ended meanwhile`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""read""#)
        let client = try HTTP2Client(try ladle.connect())
        func ask(_ path: String, _ stream: UInt32) throws {
            let authority = "127.0.0.1:\(ladle.port)"
            try client.request(
                "GET",
                path,
                stream: stream,
                authority: authority,
                [("authorization", "Bearer \(token)")]
            )
        }
        // No window: what is answered waits here until nothing more is read for this client.
        try client.send(HTTP2Client.settings, 0, 0, [0, 4, 0, 0, 0, 0])
        for stream in [1, 3, 5, 7] as [UInt32] { try ask("/openapi.yaml", stream) }
        for stream in [9, 11, 13] as [UInt32] { try ask("/v1/outbox", stream) }
        try client.wait { client in client.frames.count { $0.type == HTTP2Client.headers } == 4 }
        #expect(try ladle.request("GET", "/readyz").status == 200)
        #expect(try ladle.request("DELETE", "/v1/tokens/\(id)").status == 204)
        try client.send(HTTP2Client.settings, 0, 0, [0, 4, 0, 0, 0xFF, 0xFF])
        for stream in [9, 11, 13] as [UInt32] {
            let body = String(decoding: try client.answer(stream).body, as: UTF8.self)
            #expect(body.contains("NOT_PAIRED") && !body.contains("entries"), "\(body)")
        }
    }

    @Test func `looking at an approved application without room for the token does not use it up`() async throws {
        let ladle = try await LadleProcess()
        let body = #"{"name":"kitchen","scopes":["read"]}"#
        let applied = try ladle.request("POST", "/v1/pairing", json, body: body)
        let (id, code) = (try #require(applied["id"]), try #require(applied["code"]))
        #expect(try ladle.request("POST", "/v1/pairing/approve", json, body: #"{"code":"\#(code)"}"#).status == 200)
        #expect(try ladle.request("HEAD", "/v1/pairing/\(id)", stranger(ladle)).status == 200)
        #expect(try ladle.request("GET", "/v1/pairing/\(id)", stranger(ladle))["token"] != nil)
    }

    @Test func `a time wins over a duration, and both must be right`() async throws {
        let ladle = try await LadleProcess()
        for (seconds, status) in [("60", 201), ("0", 422), ("3155760001", 422), ("\"1h\"", 422)] {
            let body =
                #"{"name":"x","scopes":["read"],"expiresInSeconds":\#(seconds),"expiresAt":"2099-01-01T00:00:00Z"}"#
            let answer = try ladle.request("POST", "/v1/tokens", json, body: body)
            #expect(answer.status == status, "\(seconds): \(answer)")
            if status == 201 { #expect(answer["expiresAt"] == "2099-01-01T00:00:00.000Z") }
        }
    }

    @Test func `a token with scope admin cannot seem to be limited to sessions`() async throws {
        let ladle = try await LadleProcess()
        let body = #"{"name":"x","scopes":["admin"],"sessions":["main"]}"#
        #expect(try ladle.request("POST", "/v1/tokens", json, body: body).status == 422)
    }

    @Test func `applications and wrong credentials are throttled, a correct one never`() async throws {
        let ladle = try await LadleProcess(["--limits-auth-per-minute", "3", "--limits-pairing-per-minute", "2"])
        let (_, token) = try create(ladle, #""read""#)
        var statuses: [Int] = []
        for _ in 0..<6 {
            let answer = try ladle.request("GET", "/v1/status", bearer("ldl_wrong"))
            statuses.append(answer.status)
            if answer.status == 429 {
                #expect(answer.field("Retry-After") != nil)
                #expect(answer.field("RateLimit-Policy")?.contains("auth") == true)
            }
        }
        #expect(statuses == [401, 401, 401, 429, 429, 429])
        #expect(try ladle.request("GET", "/v1/status", bearer(token)).status == 200)
        let body = #"{"name":"a","scopes":["read"]}"#
        let applied = try (0..<3).map { _ in try ladle.request("POST", "/v1/pairing", json, body: body).status }
        #expect(applied == [202, 202, 429])
    }

    @Test(arguments: [
        ("POST", "/v1/tickets", #"{"paht":"/v1/events"}"#, "paht", "path"),
        ("POST", "/v1/tokens", #"{"scoops":["read"]}"#, "scoops", "scopes"),
        ("POST", "/v1/pairing", #"{"nmae":"x","colour":1}"#, "nmae", "name"),
        ("POST", "/v1/pairing/approve", #"{"coed":"x"}"#, "coed", "code"),
        ("POST", "/v1/messages", #"{"txt":"x"}"#, "txt", "text"),
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
        let ladle = try await LadleProcess()
        let answer = try ladle.request(method, path, json + ["If-Match: *"], body: body)
        #expect(answer.status == 422, "\(answer)")
        #expect(answer["field"] == field)
        let told = [answer.json["detail"]?.string, answer.json["hint"]?.string].compactMap(\.self).joined()
        #expect(told.contains(near), "\(answer)")
    }

    @Test func `unknown fields beside known ones are ignored`() async throws {
        let ladle = try await LadleProcess()
        let bodies = [
            ("POST", "/v1/tickets", #"{"path":"/v1/events","colour":"red"}"#, 201),
            ("POST", "/v1/tokens", #"{"name":"x","scopes":["read"],"colour":"red"}"#, 201),
            ("POST", "/v1/pairing", #"{"name":"x","scopes":["read"],"colour":"red"}"#, 202),
            ("PUT", "/v1/identity", #"{"name":"Ann","colour":"red"}"#, 200),
            ("PUT", "/v1/profile", #"{"fields":{"name":"Ann","colour":"red"},"etag":"x"}"#, 200),
            ("PATCH", "/v1/identity", #"{"name":"Ann","colour":"red"}"#, 422),
        ]
        try eventually {
            try ladle.request("GET", "/v1/status").json["link"]?["state"]?.string == "online" ? true : nil
        }
        for (method, path, body, status) in bodies {
            let type = method == "PATCH" ? ["Content-Type: application/merge-patch+json"] : json
            let answer = try ladle.request(method, path, type + ["If-Match: *"], body: body)
            #expect(answer.status == status, "\(path): \(answer)")
        }
    }

    @Test func `a ticket opens one stream once`() async throws {
        let ladle = try await LadleProcess()
        let (_, token) = try create(ladle, #""read""#)
        let bought = try ladle.request("POST", "/v1/tickets", bearer(token) + json, body: #"{"path":"/v1/events"}"#)
        #expect(bought.status == 201, "\(bought)")
        let ticket = try #require(bought["ticket"])
        let stream = try ladle.connect()
        try stream.send(ladle.requestBytes("GET", "/v1/events?ticket=\(ticket)", stranger(ladle)))
        #expect(try read(stream, until: "event: hello").contains("HTTP/1.1 200"))
        #expect(try ladle.request("GET", "/v1/events?ticket=\(ticket)", stranger(ladle)).status == 401)
        let admin = try ladle.request("POST", "/v1/tickets", json, body: #"{"path":"/v1/tokens"}"#)
        #expect(admin.status == 422)
    }

    @Test func `changes leave one audit line each, without secrets`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try create(ladle, #""send""#)
        _ = try ladle.request("POST", "/v1/messages", bearer(token) + json, body: #"{"text":"very private"}"#)
        _ = try ladle.request("DELETE", "/v1/tokens/\(id)")
        ladle.signal(SIGTERM)
        _ = ladle.waitForExit()
        let log = String(decoding: try ladle.state.bytes(of: "demo/audit.log"), as: UTF8.self)
        #expect(log.contains(#""what":"createToken","which":"\#(id)","result":"done""#), "\(log)")
        #expect(log.contains(#""who":"token:\#(id)""#))
        #expect(log.contains(#""what":"revokeToken""#))
        #expect(!log.contains(token) && !log.contains("very private"))
        #expect(try ladle.state.mode(of: "demo/audit.log") == 0o600)
    }
}
