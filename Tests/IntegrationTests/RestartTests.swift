import Foundation
import JSONBytes
import POSIX
import TestSupport
import Testing

/// State that a process leaves for the next one.
struct RestartTests {
    @Test func `a message accepted before a kill is there after it`() async throws {
        // No gateway listens on port 9.
        let away = ["--gateway", "ws://127.0.0.1:9"]
        let first = try await LadleProcess(away, demo: false)
        let text = ["Content-Type: text/plain"]
        let id = try #require(try first.request("POST", "/v1/messages", text, body: "keep me")["id"])
        first.signal(SIGKILL)
        _ = first.waitForExit()
        let second = try await LadleProcess(away, state: first.state, demo: false)
        #expect(try second.request("GET", "/v1/outbox/\(id)")["text"] == "keep me")
        #expect(try second.request("GET", "/v1/status").json["outbox"]?["pending"]?.int == 1)
    }

    @Test func `a state directory that was moved away is told of, by the commands and by the server`() async throws {
        let ladle = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], demo: false)
        let (place, elsewhere) = (ladle.state.path, ladle.state.path + "-away")
        try FileSystem.rename(place, to: elsewhere)
        defer { try? FileSystem.rename(elsewhere, to: place) }
        for command in ["status", "doctor"] {
            let told = try ladle.command([command])
            #expect(told.code != 0 && told.output.contains("/ladle.sock was deleted, perhaps with its state directory"))
        }
        let text = try eventually {
            let status = try ladle.request("GET", "/v1/status", ["Accept: text/plain"]).body
            return status.contains("no message is accepted") ? status : nil
        }
        #expect(text.contains("/ladle.db was deleted or replaced while Ladle runs; put it back, or restart Ladle"))
        try FileSystem.rename(elsewhere, to: place)
        try eventually { try ladle.request("GET", "/v1/status").json["outbox"]?["closed"] == nil ? true : nil }
        #expect(try ladle.command(["status"]).code == 0)
    }

    @Test func `tokens outlive a restart, the first start leaves one for the owner, and no file has their secrets`()
        async throws
    {
        let state = try ScratchDirectory()
        let first = try await LadleProcess(state: state)
        let (id, token) = try first.token("read")
        first.signal(SIGTERM)
        #expect(first.waitForExit().code == 0)
        // The line of the last change is written before the end.
        let line = #""what":"createToken","which":"\#(id)","result":"done""#
        #expect(try state.text(of: "demo/audit.log").contains(line))

        let second = try await LadleProcess(state: state)
        func status(_ token: String, _ path: String) throws -> Int {
            try second.request("GET", path, ["Authorization: Bearer \(token)", "X-Forwarded-For: 192.0.2.1"]).status
        }
        #expect(try status(token, "/v1/status") == 200)
        #expect(try state.mode(of: "demo/admin-token") == 0o600)
        let owners = String(decoding: try state.bytes(of: "demo/admin-token"), as: UTF8.self)
        #expect(try status(owners.trimmingCharacters(in: .whitespacesAndNewlines), "/v1/tokens") == 200)
        for name in try FileManager.default.subpathsOfDirectory(atPath: state.path) {
            guard let data = FileManager.default.contents(atPath: state.file(name)) else { continue }
            #expect(data.range(of: Data(token.utf8)) == nil, "\(name)")
        }
    }
}
