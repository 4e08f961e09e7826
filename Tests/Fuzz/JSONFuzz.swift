@c(LLVMFuzzerTestOneInput)
public func fuzzJSON(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = JSONCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
