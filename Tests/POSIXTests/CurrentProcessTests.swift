import Foundation
import POSIX
import Testing

@Suite struct CurrentProcessTests {
    /// OpenSSL registers such a handler, which ended one `ladle serve` in 3,000 with a segmentation fault after `serve.stopped`.
    @Test func `the end of the process runs no library's clean-up beside threads that go on`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            atexit { CurrentProcess.endAtOnce(status: 9) }
            CurrentProcess.end(status: 3)
        }
    }
}
