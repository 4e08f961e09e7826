import TestSupport
import Testing

/// The seeds and findings of the fuzz driver.
struct QuestionFuzzReplayTests {
    @Test(arguments: FuzzInput.all(of: "Question"))
    func `a question holds for`(_ input: FuzzInput) {
        let problem = QuestionProof.problem(with: input.bytes)
        #expect(problem == nil)
    }
}
