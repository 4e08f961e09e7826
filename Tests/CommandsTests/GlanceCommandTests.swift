import Testing

@testable import Commands

struct GlanceCommandTests {
    private static func text(_ body: String, _ rev: String) -> RecordedIO.Reply {
        .raw(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nETag: \"\(rev)\"\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
    }

    private static let unchanged = RecordedIO.Reply.raw("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")

    @Test func `a glance is one line, an object, or what a status bar reads`() {
        let io = RecordedIO()
        io.replies = [
            Self.text("○ idle\u{1B}[2J\n", "a"), .json(200, #"{"state":"idle"}"#), .json(200, #"{"text":"x"}"#),
            .json(200, #"{"state":"idle"}"#),
        ]
        #expect(io.run("glance", "--private") == .ok)
        #expect(io.output == "○ idle[2J\n")
        #expect(io.requests[0].hasPrefix("GET /v1/glance?private=true HTTP") && io.requests[0].contains("text/plain"))
        #expect(io.run("glance", "--json") == .ok)
        #expect(io.run("glance", "--format", "waybar") == .ok)
        #expect(io.requests[2].hasPrefix("GET /v1/glance?format=waybar HTTP"))
        #expect(io.run("glance", "--format", "{{.state}}") == .ok)
        #expect(io.output.hasSuffix("{\"state\":\"idle\"}\n{\"text\":\"x\"}\nidle\n"), "\(io.output)")
        #expect(io.run("glance", "--format", "waybar", "--json") == .usage)
        #expect(io.run("glance", "--wait", "soon") == .usage)
    }

    @Test func `with a time it goes on from the version that was shown`() {
        let io = RecordedIO()
        io.replies = [Self.text("one\n", "a"), Self.unchanged, Self.text("two\n", "b"), Self.unchanged]
        #expect(io.run("glance", "--wait", "400") == .ok)
        #expect(io.output == "one\ntwo\n")
        #expect(io.requests[1].hasPrefix("GET /v1/glance?rev=a&wait=300 "))
        #expect(io.requests[2].hasPrefix("GET /v1/glance?rev=a&wait=100 "))
        #expect(io.requests[3].hasPrefix("GET /v1/glance?rev=b&wait=100 "))
    }
}
