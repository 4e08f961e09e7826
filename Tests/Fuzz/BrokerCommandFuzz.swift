@c(LLVMFuzzerTestOneInput)
public func fuzzBrokerCommand(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = CommandProof.problem(with: bytes) { fatalError(problem) }
    return 0
}
