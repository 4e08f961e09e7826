package import Basics
import CSystem

/// A UDP socket for questions with deadlines: its calls block, so it is for command-line programs.
package final class DatagramSocket {
    private let fd: Int32
    package let isIPv6: Bool
    private let scope: UInt32

    /// - Parameter interface: the interface to multicast through; nil leaves the choice to the routing table.
    package init(isIPv6: Bool, interface: NetworkInterface?) throws(SystemError) {
        let bytes = interface?.address.mappedBytes ?? [UInt8](repeating: 0, count: 16)
        let fd = unsafe cs_dns_open(isIPv6 ? 1 : 0, interface?.index ?? 0, bytes)
        self.fd = try SystemError.check(fd, "open a datagram socket")
        self.isIPv6 = isIPv6
        scope = interface?.index ?? 0
    }

    deinit { cs_close(fd) }

    /// A failure (no route, interface gone) is ignored: other sockets may succeed.
    package func send(_ bytes: [UInt8], to address: NetworkAddress, port: UInt16) {
        _ = unsafe cs_dns_send(fd, isIPv6 ? 1 : 0, address.mappedBytes, port, scope, bytes, bytes.count)
    }

    /// Nil if no datagram is waiting.
    package func receive() -> (bytes: [UInt8], from: NetworkAddress, port: UInt16)? {
        var bytes = [UInt8](repeating: 0, count: 9000)
        var from = [UInt8](repeating: 0, count: 16)
        var port: UInt16 = 0
        let count = unsafe cs_dns_receive(fd, &bytes, bytes.count, &from, &port)
        guard count >= 0, let address = NetworkAddress(bytes: from) else { return nil }
        return (Array(bytes[..<Int(count)]), address, port)
    }

    /// The sockets that have something to read; empty at the deadline.
    package static func wait(_ sockets: [DatagramSocket], milliseconds: Int64) -> [DatagramSocket] {
        let fds = sockets.map(\.fd)
        var ready = [UInt8](repeating: 0, count: fds.count)
        let count = unsafe cs_dns_wait(fds, &ready, Int32(clamping: fds.count), Int32(clamping: milliseconds))
        guard count > 0 else { return [] }
        return zip(sockets, ready).filter { $0.1 != 0 }.map(\.0)
    }

    /// Sends one datagram to a Unix socket, on Linux also to an abstract name behind `@`. Failures are ignored.
    package static func send(_ text: String, toUnix path: String) {
        let bytes = Array(text.utf8)
        _ = unsafe cs_unix_send(path, bytes, bytes.count)
    }

    /// Sends one DNS question over TCP (RFC 1035 §4.2.2); nil without a complete answer in time.
    package static func askOverTCP(
        _ question: [UInt8],
        server: NetworkAddress,
        port: UInt16,
        milliseconds: Int64
    ) -> [UInt8]? {
        var answer = [UInt8](repeating: 0, count: 65535)
        let count = unsafe cs_dns_tcp(
            server.mappedBytes,
            port,
            question,
            question.count,
            &answer,
            answer.count,
            Int32(clamping: milliseconds)
        )
        return count >= 0 ? Array(answer[..<Int(count)]) : nil
    }
}
