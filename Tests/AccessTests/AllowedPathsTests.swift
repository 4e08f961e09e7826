import Access
import Testing

struct AllowedPathsTests {
    private func cover(_ paths: [String], _ path: String) throws -> Bool {
        try AllowedPaths(paths).cover(Array(path.utf8)[...])
    }

    @Test(arguments: [
        "/v1/runs", "/v1/runs/x", "/v1/runs/x/abort", "/v1/runs/a%2Fb", "/v1/runs/%61", "/v1/%72uns", "/v1/runs/...",
        "/v1/runs/.x",
        "/v1/sessions/agent:main:main", "/v1/sessions/agent%3Amain%3amain", "/v1/sessions/agent%3Amain:main/reset",
    ])
    func `a path and what is below it are covered, in any spelling`(path: String) throws {
        #expect(try cover(["/v1/runs", "/v1/sessions/agent%3Amain%3Amain"], path))
    }

    @Test(arguments: [
        "", "/", "v1/runs", "/v1", "/v1/", "/v1/run", "/v1/runsx", "/v1/runs%2Fx", "/v1%2Fruns", "/v1/runs/",
        "/v1/runs//x",
        "//v1/runs", "/v1/runs/..", "/v1/runs/../status", "/v1/runs/%2e%2E/status", "/v1/runs/.%2e", "/v1/runs/.",
        "/v1/./runs",
        "/v1/runs/%00", "/v1/runs/%7F", "/v1/runs/%", "/v1/runs/%4", "/v1/runs/%zz", "/v1/runs/%FF", "/V1/runs", "*",
        "/v1/sessions/agent:main:main2", "/v1/sessions/agent%253Amain%253Amain",
    ])
    func `nothing else is, however it is spelt`(path: String) throws {
        #expect(try !cover(["/v1/runs", "/v1/sessions/agent%3Amain%3Amain"], path))
    }

    @Test func `the same letter in other bytes is another path`() throws {
        #expect(try cover(["/v1/sessions/caf%C3%A9"], "/v1/sessions/caf%c3%a9"))
        #expect(try !cover(["/v1/sessions/caf%C3%A9"], "/v1/sessions/cafe%CC%81"))
    }

    @Test func `too many, too long and malformed paths are named`() throws {
        #expect(throws: AllowedPaths.Fault.none) { try AllowedPaths([]) }
        let many = (0..<AllowedPaths.most).map { "/v1/\($0)" }
        #expect(try AllowedPaths(many).list.count == AllowedPaths.most)
        #expect(throws: AllowedPaths.Fault.tooMany(limit: AllowedPaths.most)) { try AllowedPaths(many + ["/v1/x"]) }
        let long = "/" + String(repeating: "x", count: AllowedPaths.longest - 1)
        #expect(try AllowedPaths([long]).list == [long])
        #expect(throws: AllowedPaths.Fault.tooLong(limit: AllowedPaths.longest)) { try AllowedPaths([long + "x"]) }
        for path in ["", "v1", "/", "/v1/", "/v1?x", "/v1#x", "/v1/ü", "/v1\n/x", "/v1/..", "/v1/%2e", "/v1/%0A"] {
            #expect(throws: AllowedPaths.Fault.malformed(path)) { try AllowedPaths([path]) }
        }
    }

    @Test func `paths lie within others part by part`() throws {
        let wide = try AllowedPaths(["/v1/runs", "/v1/outbox"])
        #expect(wide.cover(try AllowedPaths(["/v1/runs/x", "/v1/outbox"])))
        #expect(!wide.cover(try AllowedPaths(["/v1/runs/x", "/v1/outboxes"])))
        #expect(!(try AllowedPaths(["/v1/runs/x"])).cover(wide))
    }
}
