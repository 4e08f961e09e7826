import TestSupport
import Testing

/// Every seed and every finding of the fuzz drivers, again.
struct JSONBytesFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "JSON"))
    func `JSON holds for`(_ input: FuzzInput) {
        #expect(JSONCheck.problem(with: input.bytes) == nil)
    }
}
