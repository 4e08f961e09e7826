import Basics
import CSystem

/// Every system call of this target. The calls block, with deadlines: this runs in a command, not in the daemon.
enum DiscoverySystem {
    struct Failure: Error, Equatable {
        let code: Int32
    }

    /// Owns one datagram socket.
    final class DatagramSocket {
        let fd: Int32
        let isIPv6: Bool
        let scope: UInt32

        /// `interface` nil: wherever routing leads.
        init(isIPv6: Bool, interface: NetworkInterface?) throws(Failure) {
            let bytes = interface?.address.mappedBytes ?? [UInt8](repeating: 0, count: 16)
            let fd = unsafe cs_dns_open(isIPv6 ? 1 : 0, interface?.index ?? 0, bytes)
            guard fd >= 0 else { throw Failure(code: -fd) }
            self.fd = fd
            self.isIPv6 = isIPv6
            scope = interface?.index ?? 0
        }

        deinit { cs_close(fd) }

        /// A failure to send (no route, interface gone) is silence: the others go on.
        func send(_ bytes: [UInt8], to address: NetworkAddress, port: UInt16) {
            _ = unsafe cs_dns_send(fd, isIPv6 ? 1 : 0, address.mappedBytes, port, scope, bytes, bytes.count)
        }

        func receive() -> (bytes: [UInt8], from: NetworkAddress, port: UInt16)? {
            var bytes = [UInt8](repeating: 0, count: 9000)
            var from = [UInt8](repeating: 0, count: 16)
            var port: UInt16 = 0
            let count = unsafe cs_dns_receive(fd, &bytes, bytes.count, &from, &port)
            guard count >= 0, let address = NetworkAddress(bytes: from) else { return nil }
            return (Array(bytes[..<Int(count)]), address, port)
        }
    }

    /// Which of the sockets have something to read; empty at the deadline.
    static func wait(_ sockets: [DatagramSocket], milliseconds: Int64) -> [DatagramSocket] {
        let fds = sockets.map(\.fd)
        var ready = [UInt8](repeating: 0, count: fds.count)
        let count = unsafe cs_dns_wait(fds, &ready, Int32(clamping: fds.count), Int32(clamping: milliseconds))
        guard count > 0 else { return [] }
        return zip(sockets, ready).filter { $0.1 != 0 }.map(\.0)
    }

    static func askOverTCP(_ question: [UInt8], server: DNSServer, milliseconds: Int64) -> [UInt8]? {
        var answer = [UInt8](repeating: 0, count: 65535)
        let count = unsafe cs_dns_tcp(
            server.address.mappedBytes,
            server.port,
            question,
            question.count,
            &answer,
            answer.count,
            Int32(clamping: milliseconds)
        )
        return count >= 0 ? Array(answer[..<Int(count)]) : nil
    }

    static func interfaces() -> [NetworkInterface] {
        var raw = [cs_interface_address](repeating: cs_interface_address(), count: 256)
        let count = unsafe cs_interface_addresses(&raw, Int32(raw.count))
        guard count > 0 else { return [] }
        return raw[..<Int(count)].compactMap { entry in
            let name = unsafe withUnsafeBytes(of: entry.name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let bytes = unsafe withUnsafeBytes(of: entry.address) { unsafe Array($0) }
            guard let address = NetworkAddress(bytes: bytes) else { return nil }
            return NetworkInterface(
                name: name,
                index: entry.index,
                address: address,
                isUp: entry.flags & 1 != 0,
                isLoopback: entry.flags & 2 != 0,
                canMulticast: entry.flags & 4 != 0
            )
        }
    }

    static func readFile(_ path: String) -> [UInt8]? {
        var facts = cs_file_facts()
        let fd = unsafe cs_open_secret(path, &facts)
        guard fd >= 0 else { return nil }
        defer { cs_close(fd) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe cs_read_some(fd, &bytes, bytes.count)
        return count >= 0 ? Array(bytes[..<Int(count)]) : nil
    }

    static var now: Int64 { Int64(clamping: cs_monotonic_ns() / 1_000_000) }
}
