@c(LLVMFuzzerTestOneInput)
public func fuzzSSEDecoder(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = SSEDecoderCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
