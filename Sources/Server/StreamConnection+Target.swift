package import EventLoops

/// Fanned-out bytes go from the hub to the socket in one call that touches one object for each subscriber: with a
/// thousand subscribers, each further object costs a cache miss.
extension StreamConnection: StreamTarget {
    package func take(_ bytes: Span<UInt8>, on loop: isolated EventLoop) -> WriteOutcome {
        switch send(bytes, on: loop) {
        case .sent: .written
        case .queued(let count): .waiting(count)
        case .overflow: .full
        case .closed: .gone
        }
    }
}
