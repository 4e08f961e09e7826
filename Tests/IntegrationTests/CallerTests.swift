import Basics
import Foundation
import TestSupport
import Testing

/// Callers that need real connections.
struct CallerTests {
    @Test func `another user of this host is refused, also when he hangs up first`() async throws {
        guard getuid() == 0 else { return }
        let ladle = try await LadleProcess()
        let other = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: 12_345)
        #expect(try ladle.request("GET", "/v1/status", on: other).status == 401)
        let gone = try BlockingSocket.connect(.loopback4, port: ladle.port, asUID: 12_345)
        try gone.send(
            ladle.requestBytes(
                "POST",
                "/v1/tokens",
                ["Content-Type: application/json"],
                body: #"{"name":"x","scopes":["admin"]}"#
            )
        )
        gone.close()
        let tokens = try ladle.request("GET", "/v1/tokens").body
        #expect(!tokens.contains(#""name":"x""#))
    }

    @Test func `a page that waits for its turn is nothing for a token that ended meanwhile`() async throws {
        let ladle = try await LadleProcess()
        let (id, token) = try ladle.token("read")
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
        // Without a window the answers wait here, until nothing more is read for this client.
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
}
