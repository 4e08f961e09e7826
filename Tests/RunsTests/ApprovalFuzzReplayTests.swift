import TestSupport
import Testing

/// The seeds and findings of the fuzz driver.
struct ApprovalFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "Approval"))
    func `an approval holds for`(_ input: FuzzInput) {
        let problem = ApprovalProof.problem(with: input.bytes)
        #expect(problem == nil)
    }
}
