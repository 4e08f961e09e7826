import POSIX
import Testing

struct KeptProgramTests {
    private static let path = ["PATH=/usr/bin:/bin"]

    @Test func `a program runs until it ends, and says how`() throws {
        let result = try KeptProgram().run(
            ["/bin/sh", "-c", "echo $PATH; exit 3"],
            environment: Self.path,
            outputLimit: 8
        )
        #expect(result.status == 3 && result.output == Array("/usr/bin".utf8))
        // The child ends before it has become the program.
        #expect(try KeptProgram().run(["/no/such"], environment: [], outputLimit: 8).status == 127)
    }

    @Test func `a program that was stopped before it began ends at once`() throws {
        let program = KeptProgram()
        program.stop()
        let result = try program.run(["/bin/sleep", "1000"], environment: Self.path, outputLimit: 8)
        #expect(result.status == 128 + 15)
        program.stop()
    }
}
