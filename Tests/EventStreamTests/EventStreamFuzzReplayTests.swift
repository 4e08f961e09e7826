import TestSupport
import Testing

/// Every seed and every finding of the fuzz drivers, again.
struct EventStreamFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "SSEEncoder"))
    func `SSEEncoder holds for`(_ input: FuzzInput) {
        #expect(SSEEncoderCheck.problem(with: input.bytes) == nil)
    }

    @Test(arguments: FuzzInput.all(of: "EventCursor"))
    func `EventCursor holds for`(_ input: FuzzInput) {
        #expect(EventCursorCheck.problem(with: input.bytes) == nil)
    }
}
