@c(LLVMFuzzerTestOneInput)
public func fuzzSSEEncoder(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = SSEEncoderCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
