import Testing

@testable import POSIX

struct ChildProcessTests {
    private func run(_ script: String, _ more: [String] = [], input: String = "", milliseconds: Int32 = 5_000) throws
        -> ChildProcess.Result
    {
        try ChildProcess.run(
            ["/bin/sh", "-c", script, "sh"] + more,
            environment: ["NAME=a b"],
            input: Array(input.utf8),
            outputLimit: 64,
            milliseconds: milliseconds
        )
    }

    @Test func `a program gets its words, its input and nothing else`() throws {
        let result = try run("cat; echo \"$1|$NAME|$HOME\"; exit 3", ["$(id)"], input: "in;")
        #expect(String(decoding: result.output, as: UTF8.self) == "in;$(id)|a b|\n" && result.status == 3)
    }

    @Test func `output over the limit is dropped, and so is input that nobody reads`() throws {
        let much = String(repeating: "x", count: 300_000)
        #expect(try run("cat; cat", input: much).output.count == 64)
        #expect(try run("exit 0", input: much).status == 0)
        #expect(try run("kill -9 $$").status == 137)
    }

    @Test func `a program that does not end is ended with its children`() {
        #expect(throws: SystemError.self) { try run("sleep 60 & sleep 60", milliseconds: 50) }
        #expect(throws: SystemError.self) {
            try ChildProcess.run(["/nowhere/program"], environment: [], input: [], outputLimit: 1, milliseconds: 50)
        }
    }
}
