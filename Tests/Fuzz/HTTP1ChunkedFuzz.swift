@c(LLVMFuzzerTestOneInput)
public func fuzzHTTP1Chunked(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = HTTP1ChunkedCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
