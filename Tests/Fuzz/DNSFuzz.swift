// Modules: Basics JSONBytes POSIX Discovery. C: CSystem.
import Discovery
import JSONBytes

/// A message that is read is written, read again and must be the same; then it is fed to a browse, whose bounds must hold.
@c(LLVMFuzzerTestOneInput)
func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let message = try? DNSMessage(parsing: bytes) else { return 0 }
    if message.records.allSatisfy(\.isKnown) {
        guard let again = try? DNSMessage(parsing: message.bytes), again == message else { fatalError("not read back") }
    }
    guard var browse = GatewayBrowse() else { return 0 }
    browse.receive(message)
    browse.receive(message)
    let gateways = browse.gateways
    guard gateways.count <= 64, browse.questions.count <= 64 * 4 + 1 else { fatalError("unbounded") }
    var writer = JSONWriter()
    writer.value(DiscoveryReport(gateways))
    guard (try? JSONDocument(parsing: writer.bytes)) != nil else { fatalError("not JSON") }
    _ = DiscoveryReport(gateways).table()
    return 0
}

extension DNSRecord {
    /// Records of other types are kept without their data.
    fileprivate var isKnown: Bool {
        if case .other = data { false } else { true }
    }
}
