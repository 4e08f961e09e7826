@c(LLVMFuzzerTestOneInput)
public func fuzzTimeZone(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = TimeZoneProof.problem(with: bytes) { fatalError(problem) }
    return 0
}
