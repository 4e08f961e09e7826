@c(LLVMFuzzerTestOneInput)
public func fuzzMQTT(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = MQTTCheck.problem(with: bytes) { fatalError(problem) }
    return 0
}
