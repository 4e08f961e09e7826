import JSONBytes
import Testing

@testable import Commands

struct NodeCommandTests {
    private static let row =
        #"{"id":"0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23","name":"Ann\u001b[1m\u202e","platform":"ios","state":"connected","#
        + #""capabilities":["camera"],"commands":[{"name":"camera.snap","allowed":false,"why":"ladle_policy"},"#
        + #"{"name":"system.notify","allowed":true}]}"#

    @Test func `nodes are one line each, without control characters`() {
        let io = RecordedIO()
        io.replies = [.json(200, #"{"nodes":[\#(Self.row)],"live":true}"#), .json(200, #"{"nodes":[],"live":true}"#)]
        #expect(io.run("nodes") == .ok)
        #expect(io.output.contains("system.notify") && !io.output.contains("camera.snap"))
        #expect(!io.output.contains("\u{1B}") && !io.output.contains("\u{202E}"))
        #expect(io.run("nodes", "list") == .ok)
        #expect(io.requests[1].hasPrefix("GET /v1/nodes HTTP"))
    }

    @Test func `one is shown with each command and why it is not done`() {
        let io = RecordedIO()
        io.replies = [.json(200, Self.row)]
        #expect(io.run("nodes", "show", "0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23") == .ok)
        #expect(io.output.contains("no, by Ladle") && io.output.contains("yes") && !io.output.contains("\u{1B}"))
    }

    @Test func `a command goes out with its parameters and a key of its own`() throws {
        let io = RecordedIO()
        let answer = #"{"node":"n","command":"system.notify","result":null,"durationMs":3}"#
        let queued = #"{"node":"n","command":"canvas.present","queued":true,"retryable":false}"#
        let value = #"{"node":"n","command":"device.status","result":{"battery":"\u001b[1m"},"durationMs":3}"#
        io.replies = [.json(200, answer), .json(202, queued), .json(200, value)]
        #expect(io.run("nodes", "invoke", "node", "system.notify", "title=Tea = ready", "x=3", "loud=true") == .ok)
        let params = try io.body(0)["params"]
        #expect(params?["title"]?.string == "Tea = ready" && params?["x"]?.int == 3 && params?["loud"]?.bool == true)
        #expect(io.requests[0].hasPrefix("POST /v1/nodes/node/invoke HTTP"))
        #expect(io.run("nodes", "invoke", "--timeout", "5", "node", "canvas.present") == .ok)
        #expect(try io.body(1)["timeoutMs"]?.int == 5_000 && io.body(1)["params"] == nil)
        #expect(io.output.contains("Do not repeat it"))
        #expect(io.run("nodes", "invoke", "--idempotency-key", "mine", "node", "device.status") == .ok)
        #expect(io.requests[2].lowercased().contains("idempotency-key: mine") && !io.output.contains("\u{1B}"))
    }

    @Test(arguments: [["title"], ["=x"], ["a=1", "a=2"]])
    func `a parameter has a name, once`(words: [String]) {
        let io = RecordedIO()
        #expect(
            io.run("nodes", "invoke", "node", "system.notify", words[0], words.count > 1 ? words[1] : "b=1") == .usage
        )
        #expect(io.requests.isEmpty)
    }

    @Test(arguments: ["0", "121", "99999999999999999", "x"])
    func `a time has its bounds`(seconds: String) {
        let io = RecordedIO()
        #expect(io.run("nodes", "invoke", "--timeout", seconds, "node", "system.notify") == .usage)
        #expect(io.requests.isEmpty)
    }
}
