import TestSupport
import Testing

/// Every seed and every finding of the fuzz drivers, again.
struct EventStreamFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "SSEDecoder"))
    func `SSEDecoder holds for`(_ input: FuzzInput) {
        #expect(SSEDecoderCheck.problem(with: input.bytes) == nil)
    }

    @Test(arguments: FuzzInput.all(of: "EventCursor"))
    func `EventCursor holds for`(_ input: FuzzInput) {
        #expect(EventCursorCheck.problem(with: input.bytes) == nil)
    }
}
