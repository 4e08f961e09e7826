@c(LLVMFuzzerTestOneInput)
public func fuzzApproval(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = ApprovalProof.problem(with: bytes) { fatalError(problem) }
    return 0
}
