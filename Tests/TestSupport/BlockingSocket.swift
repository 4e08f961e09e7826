package import Basics
import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A listening socket that a thread of its own accepts on. `@unchecked Sendable`: only that thread uses the socket, and `shutdown`, which ends
/// it, is safe from any thread.
package struct AcceptingSocket: @unchecked Sendable {
    package let socket: BlockingSocket

    package init(_ socket: BlockingSocket) { self.socket = socket }
}

/// A plain blocking socket with a receive time-out, for the far end of a test.
package final class BlockingSocket {
    package enum Failure: Error {
        case system(String, Int32)
    }

    package let fd: Int32
    private var isOpen = true

    private init(_ fd: Int32) {
        self.fd = fd
    }

    deinit { close() }

    package static func listen(_ address: NetworkAddress) throws -> BlockingSocket {
        let fd = try make(address.isIPv4 ? AF_INET : AF_INET6)
        try bind(fd, address, 0)
        guard callListen(fd, 16) == 0 else { throw Failure.system("listen", errno) }
        return BlockingSocket(fd)
    }

    /// A listener on `::` that also accepts IPv4 callers.
    package static func listenDualStack() throws -> BlockingSocket {
        let fd = try make(AF_INET6)
        var off: Int32 = 0
        unsafe setsockopt(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, socklen_t(4))
        try bind(fd, NetworkAddress(high: 0, low: 0), 0)
        guard callListen(fd, 16) == 0 else { throw Failure.system("listen", errno) }
        return BlockingSocket(fd)
    }

    package static func connect(_ address: NetworkAddress, port: UInt16, asIPv6: Bool = false) throws -> BlockingSocket
    {
        let v6 = asIPv6 || !address.isIPv4
        let fd = try make(v6 ? AF_INET6 : AF_INET)
        let result = unsafe withAddress(address, port: port, v6: v6) { pointer, length in
            unsafe callConnect(fd, pointer, length)
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
        return BlockingSocket(fd)
    }

    /// Connects as another user (root only): a socket's uid is that of its inode.
    package static func connect(_ address: NetworkAddress, port: UInt16, asUID uid: UInt32) throws -> BlockingSocket {
        let fd = try make(address.isIPv4 ? AF_INET : AF_INET6)
        guard fchown(fd, uid, uid) == 0 else { throw Failure.system("fchown", errno) }
        let result = unsafe withAddress(address, port: port, v6: !address.isIPv4) { pointer, length in
            unsafe callConnect(fd, pointer, length)
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
        return BlockingSocket(fd)
    }

    package static func udp(_ address: NetworkAddress) throws -> BlockingSocket {
        let fd = try make(address.isIPv4 ? AF_INET : AF_INET6, datagram: true)
        try bind(fd, address, 0)
        return BlockingSocket(fd)
    }

    package static func listen(unixPath: String) throws -> BlockingSocket {
        let fd = try make(AF_UNIX)
        let result = unsafe withUnixAddress(unixPath) { pointer, length in unsafe callBind(fd, pointer, length) }
        guard result == 0, callListen(fd, 16) == 0 else { throw Failure.system("bind \(unixPath)", errno) }
        return BlockingSocket(fd)
    }

    package static func connect(unixPath: String) throws -> BlockingSocket {
        let fd = try make(AF_UNIX)
        let result = unsafe withUnixAddress(unixPath) { pointer, length in unsafe callConnect(fd, pointer, length) }
        guard result == 0 else { throw Failure.system("connect \(unixPath)", errno) }
        return BlockingSocket(fd)
    }

    package var port: UInt16 { UInt16(clamping: cs_dns_local_port(fd)) }

    package func accept() throws -> BlockingSocket {
        let peer = Self.uninterrupted { Int(callAccept(fd)) }
        guard peer >= 0 else { throw Failure.system("accept", errno) }
        Self.setTimeouts(Int32(peer))
        return BlockingSocket(Int32(peer))
    }

    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest)
            let sent = Self.uninterrupted { callSend(fd, chunk) }
            guard sent > 0 else { throw Failure.system("send", errno) }
            rest = rest.dropFirst(sent)
        }
    }

    /// The received bytes; empty at the end of the stream.
    package func receive(_ capacity: Int = 65536) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: capacity)
        let count = Self.uninterrupted { unsafe recv(fd, &bytes, capacity, 0) }
        guard count >= 0 else { throw Failure.system("recv", errno) }
        return Array(bytes[..<count])
    }

    package func receiveDatagram() throws -> (bytes: [UInt8], from: NetworkAddress, port: UInt16) {
        var bytes = [UInt8](repeating: 0, count: 65536)
        var from = [UInt8](repeating: 0, count: 16)
        var port: UInt16 = 0
        var wait = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&wait, 1, 5000)
        let count = unsafe cs_dns_receive(fd, &bytes, bytes.count, &from, &port)
        guard count >= 0, let address = NetworkAddress(bytes: from) else { throw Failure.system("recvfrom", -count) }
        return (Array(bytes[..<Int(count)]), address, port)
    }

    package func sendDatagram(_ bytes: [UInt8], to address: NetworkAddress, port: UInt16) throws {
        let v6 = address.isIPv4 ? Int32(0) : 1
        let result = unsafe cs_dns_send(fd, v6, address.mappedBytes, port, 0, bytes, bytes.count)
        guard result == 0 else { throw Failure.system("sendto", -result) }
    }

    /// Ends both directions, so that a thread blocked on this socket returns.
    package func shutdown() { callShutdown(fd, Int32(SHUT_RDWR)) }

    /// Sends no more, and still reads.
    package func shutSending() { callShutdown(fd, Int32(SHUT_WR)) }

    /// Ends sending; input is still read.
    package func endWriting() { callShutdown(fd, Int32(SHUT_WR)) }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        callClose(fd)
    }

    /// Repeats a call after a signal to the process, such as the end of a child.
    private static func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func make(_ family: Int32, datagram: Bool = false) throws -> Int32 {
        let fd = callSocket(family, datagram ? datagramKind : streamKind, 0)
        guard fd >= 0 else { throw Failure.system("socket", errno) }
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        setTimeouts(fd)
        return fd
    }

    /// Sets timeouts, so that a broken test fails instead of hanging.
    private static func setTimeouts(_ fd: Int32) {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        unsafe setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func bind(_ fd: Int32, _ address: NetworkAddress, _ port: UInt16) throws {
        let result = unsafe withAddress(address, port: port, v6: !address.isIPv4) { pointer, length in
            unsafe callBind(fd, pointer, length)
        }
        guard result == 0 else { throw Failure.system("bind", errno) }
    }

    private static func withAddress(
        _ address: NetworkAddress,
        port: UInt16,
        v6: Bool,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        if v6 {
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            raw.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &raw.sin6_addr) { unsafe $0.copyBytes(from: address.mappedBytes) }
            return unsafe withUnsafeBytes(of: &raw) { bytes in
                guard let base = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return -1 }
                return unsafe body(base, socklen_t(bytes.count))
            }
        }
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &raw.sin_addr) { unsafe $0.copyBytes(from: address.bytes) }
        return unsafe withUnsafeBytes(of: &raw) { bytes in
            guard let base = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return -1 }
            return unsafe body(base, socklen_t(bytes.count))
        }
    }

    private static func withUnixAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var raw = sockaddr_un()
        raw.sun_family = sa_family_t(AF_UNIX)
        let fits = unsafe withUnsafeMutableBytes(of: &raw.sun_path) { room in
            guard path.utf8.count < room.count else { return false }
            unsafe room.copyBytes(from: Array(path.utf8) + [0])
            return true
        }
        guard fits else { return -1 }
        return unsafe withUnsafeBytes(of: &raw) { bytes in
            guard let base = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return -1 }
            return unsafe body(base, socklen_t(bytes.count))
        }
    }
}

// At file level, because this type's names hide the system's.

#if canImport(Glibc)
private let streamKind = Int32(SOCK_STREAM.rawValue)
private let datagramKind = Int32(SOCK_DGRAM.rawValue)
private let noSignal = Int32(MSG_NOSIGNAL)
#else
private let streamKind = SOCK_STREAM
private let datagramKind = SOCK_DGRAM
/// Darwin has no such flag: the tests ignore SIGPIPE there.
private let noSignal: Int32 = 0
#endif

private func callSocket(_ family: Int32, _ kind: Int32, _ number: Int32) -> Int32 { socket(family, kind, number) }
private func callListen(_ fd: Int32, _ backlog: Int32) -> Int32 { listen(fd, backlog) }
private func callShutdown(_ fd: Int32, _ how: Int32) { _ = shutdown(fd, how) }
private func callClose(_ fd: Int32) { _ = close(fd) }
private func callAccept(_ fd: Int32) -> Int32 { accept(fd, nil, nil) }
private func callSend(_ fd: Int32, _ bytes: [UInt8]) -> Int { unsafe send(fd, bytes, bytes.count, noSignal) }

private func callConnect(_ fd: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    unsafe connect(fd, address, length)
}

private func callBind(_ fd: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    unsafe bind(fd, address, length)
}
