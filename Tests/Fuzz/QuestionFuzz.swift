@c(LLVMFuzzerTestOneInput)
public func fuzzQuestion(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = QuestionProof.problem(with: bytes) { fatalError(problem) }
    return 0
}
