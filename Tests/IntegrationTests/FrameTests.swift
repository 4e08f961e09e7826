import JSONBytes
import TestSupport
import Testing

/// The log of gateway frames, through the real program.
@Suite(.serialized) struct FrameTests {
    private static let stream = ["Accept: text/event-stream"]

    @Test(arguments: ["march", "june", "autumn"])
    func `no secret of a real handshake is in the log`(release: String) async throws {
        let gateway = try GatewayProcess(["--release", release])
        let ladle = try await gateway.ladle(["--debug-frames"])
        try ladle.online()
        let body = try ladle.request("GET", "/v1/debug/frames?limit=500").body
        let frames = try JSONDocument(parsing: Array(body.utf8)).root["frames"]?.elements.map { $0 } ?? []
        let first = frames.prefix(3).map { $0["frame"] }
        #expect(first[0]?["event"]?.string == "connect.challenge")
        #expect(first[0]?["payload"]?["nonce"]?.string == "[redacted]")
        let device = first[1]?["params"]?["device"]
        for name in ["publicKey", "signature", "nonce"] { #expect(device?[name]?.string == "[redacted]", "\(name)") }
        #expect(device?["id"]?.string?.count == 64)
        let auth = first[1]?["params"]?["auth"]
        #expect(auth?.members.allSatisfy { $0.value.string == "[redacted]" } ?? false)
        // The issued secrets and those on disk, verbatim. Later releases issue no token on loopback.
        if release == "march" {
            let stored = try eventually { () -> String? in
                guard let bytes = try? ladle.state.bytes(of: "device-tokens.json") else { return nil }
                return try JSONDocument(parsing: bytes).root["tokens"]?[0]?["token"]?.string
            }
            #expect(!stored.isEmpty && !body.contains(stored))
        }
        #expect(!body.contains(GatewayProcess.token))
        let key = String(decoding: try ladle.state.bytes(of: "device-key"), as: UTF8.self)
        for line in key.split(separator: "\n") where !line.hasPrefix("-") { #expect(!body.contains(line)) }
    }

    @Test func `the stream brings what is kept, then each frame as it passes, and resumes`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "0", "--debug-frames"])
        try ladle.online()
        let socket = try ladle.connect()
        defer { socket.close() }
        try socket.send(ladle.requestBytes("GET", "/v1/debug/frames", Self.stream))
        let kept = try socket.read(until: "hello-ok")
        #expect(kept.contains("text/event-stream") && kept.contains("id: 1\nevent: frame\ndata: {\"number\":1,"))
        _ = try ladle.request("POST", "/v1/messages", ["Content-Type: text/plain"], body: "hello frames")
        #expect(try socket.read(until: "hello frames").contains("chat.send"))

        let late = try ladle.connect()
        defer { late.close() }
        try late.send(ladle.requestBytes("GET", "/v1/debug/frames", Self.stream + ["Last-Event-ID: 2"]))
        let resumed = try late.read(until: "hello-ok")
        #expect(!resumed.contains("id: 2\n") && resumed.contains("id: 3\n"))

        ladle.signal(15)
        #expect(try socket.read(until: "event: shutdown").contains("event: shutdown"))
        #expect(ladle.waitForExit().code == 0)
    }
}
