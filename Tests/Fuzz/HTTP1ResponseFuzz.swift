@c(LLVMFuzzerTestOneInput)
public func fuzzHTTP1Response(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = HTTP1ResponseCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
