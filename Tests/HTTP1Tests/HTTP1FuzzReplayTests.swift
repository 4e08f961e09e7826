import TestSupport
import Testing

/// Every seed and every finding of the fuzz drivers, again.
struct HTTP1FuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "HTTP1Request"))
    func `HTTP1Request holds for`(_ input: FuzzInput) {
        #expect(HTTP1RequestCheck.problem(with: input.bytes) == nil)
    }

    @Test(arguments: FuzzInput.all(of: "HTTP1Response"))
    func `HTTP1Response holds for`(_ input: FuzzInput) {
        #expect(HTTP1ResponseCheck.problem(with: input.bytes) == nil)
    }

    @Test(arguments: FuzzInput.all(of: "HTTP1Chunked"))
    func `HTTP1Chunked holds for`(_ input: FuzzInput) {
        #expect(HTTP1ChunkedCheck.problem(with: input.bytes) == nil)
    }
}
