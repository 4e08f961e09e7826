import Foundation
import TestSupport
import Testing

@testable import Commands

struct ProcessIOTests {
    @Test func `a socket without a listener is told from one that is not allowed`() {
        let io = ProcessIO()
        #expect(throws: ClientError.notRunning(.unix(path: "/nonexistent/ladle.sock"))) {
            try io.connect(to: ServerPlace(.unix(path: "/nonexistent/ladle.sock")))
        }
        let long = "/" + String(repeating: "x", count: 200)
        #expect { try io.connect(to: ServerPlace(.unix(path: long))) } throws: {
            ($0 as? ClientError)?.exit == .unavailable
        }
    }

    @Test func `a temporary file is its owner's, is edited and goes`() throws {
        let io = ProcessIO()
        let path = try io.makeTemporary(Array("a\n".utf8), suffix: ".md")
        #expect(path.hasSuffix(".md"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(io.edit(path, with: "printf 'b\\n' >>") == 0)
        #expect(try io.readFile(path, limit: 100) == Array("a\nb\n".utf8))
        #expect(io.edit(path, with: "exit 3;") == 3)
        io.remove(path)
        #expect(throws: FileFault("\(path) does not exist")) { try io.readFile(path, limit: 100) }
        #expect(throws: FileFault("/dev/null is not a regular file")) { try io.readFile("/dev/null", limit: 100) }
    }

    @Test func `a private file is written also where the folders above it are missing`() throws {
        let scratch = try ScratchDirectory()
        for text in ["one", "two"] {
            let path = scratch.file("home/.config/ladle/contexts.json")
            try ProcessIO().replacePrivateFile(path, with: Array(text.utf8))
            #expect(try ProcessIO().readPrivateFile(path, limit: 100) == Array(text.utf8))
        }
    }

    @Test func `a request goes over a real socket and its answer comes back in pieces`() throws {
        let folder = try ScratchDirectory()
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        let daemon = try FakeTailscaled(path: folder.file("s"), responses: [answer], pieceBytes: 25)
        let response = try HTTPClient(ServerPlace(.unix(path: daemon.path)), io: ProcessIO(), version: "1")
            .perform(.get("/v1/status"))
        #expect(response.status == 200)
        #expect(response.body == Array("{}".utf8))
    }

    @Test func `the environment is read`() {
        #expect(ProcessIO().environment["PATH"]?.isEmpty == false)
        #expect(ProcessIO().columns > 0)
    }
}
