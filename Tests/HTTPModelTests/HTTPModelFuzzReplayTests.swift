import TestSupport
import Testing

/// Every seed and every finding of the fuzz drivers, again.
struct HTTPModelFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "HeaderValues"))
    func `HeaderValues holds for`(_ input: FuzzInput) {
        #expect(HeaderValuesCheck.problem(with: input.bytes) == nil)
    }
}
