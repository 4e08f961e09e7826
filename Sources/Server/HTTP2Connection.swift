import EventLoops
import Exchanges

enum HTTP2Connection {
    static func make(for c: HTTPConnection, on loop: isolated EventLoop) -> (any WireProtocol)? { nil }
}
