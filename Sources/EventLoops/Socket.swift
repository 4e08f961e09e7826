import CSystem
package import POSIX

/// A non-blocking stream socket. Each method makes one system call and returns its result.
package struct Socket: ~Copyable {
    package let descriptor: Descriptor

    package init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Starts a connect. The socket becomes writable, or fails, when the connect has ended.
    package static func connect(to address: SocketAddress) throws(SystemError) -> Socket {
        switch address {
        case .unix(let path):
            let number = try SystemError.check(unsafe cs_unix_connect(path), "connect to \(address)")
            return Socket(Descriptor(number))
        case .ip:
            var raw = address.raw
            return Socket(Descriptor(try SystemError.check(unsafe cs_tcp_connect(&raw), "connect to \(address)")))
        }
    }

    package static func listen(on address: SocketAddress, mode: UInt32 = 0o600, backlog: Int32 = 1024)
        throws(SystemError) -> Socket
    {
        switch address {
        case .unix(let path):
            let number = try SystemError.check(unsafe cs_unix_listen(path, mode, backlog), "listen on \(address)")
            return Socket(Descriptor(number))
        case .ip:
            var raw = address.raw
            let number = try SystemError.check(unsafe cs_tcp_listen(&raw, backlog), "listen on \(address)")
            return Socket(Descriptor(number))
        }
    }

    /// Two ends of one stream, for tests and for programs that talk to themselves.
    package static func pair(_ use: (consuming Socket, consuming Socket) throws -> Void) throws {
        var numbers: [Int32] = [-1, -1]
        let result = unsafe numbers.withUnsafeMutableBufferPointer { unsafe cs_unix_pair($0.baseAddress) }
        try SystemError.check(result, "make a socket pair")
        try use(Socket(Descriptor(numbers[0])), Socket(Descriptor(numbers[1])))
    }

    /// False if no connection is waiting.
    package borrowing func accept(_ use: (consuming Socket, SocketAddress) -> Void) throws(SystemError) -> Bool {
        var peer = cs_address()
        let number = unsafe cs_accept(descriptor.number, &peer)
        if number >= 0 {
            use(Socket(Descriptor(number)), SocketAddress(raw: peer))
            return true
        }
        let error = SystemError(number: -number, attempt: "accept a connection")
        if error.wouldBlock { return false }
        throw error
    }

    package var localAddress: SocketAddress? {
        var raw = cs_address()
        return unsafe cs_local_address(descriptor.number, &raw) < 0 ? nil : SocketAddress(raw: raw)
    }

    var peerAddress: SocketAddress? {
        var raw = cs_address()
        return unsafe cs_peer_address(descriptor.number, &raw) < 0 ? nil : SocketAddress(raw: raw)
    }

    /// The descriptors that launchd holds for this process under a name; empty on other systems.
    package static func launchdDescriptors(_ name: String) -> [Int32] {
        var numbers = [Int32](repeating: -1, count: 16)
        let count = unsafe numbers.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_launchd_sockets(name, buffer.baseAddress, Int32(buffer.count))
        }
        return Array(numbers.prefix(Int(count)))
    }

    package var isListening: Bool { cs_is_listening(descriptor.number) == 1 }

    /// The error of a finished connect, nil after success. Ask once the socket is writable.
    func connectError() -> SystemError? {
        let result = cs_socket_error(descriptor.number)
        return result < 0 ? SystemError(number: -result, attempt: "connect") : nil
    }

    package func read(into store: ByteStore) -> Transfer {
        let count = unsafe store.fill { memory in unsafe cs_read(descriptor.number, memory.baseAddress, memory.count) }
        if count > 0 { return .moved(count) }
        return count == 0 ? .ended : Self.outcome(count, "read from a socket")
    }

    package func write(_ bytes: Span<UInt8>) -> Transfer {
        let count = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe cs_write(descriptor.number, buffer.baseAddress, buffer.count)
        }
        return count >= 0 ? .moved(count) : Self.outcome(count, "write to a socket")
    }

    /// At the close the kernel forgets bytes that the peer has not acknowledged, and in any case after this time.
    func dropUnsent(afterMs milliseconds: Int64) {
        cs_drop_unsent(descriptor.number, Int32(clamping: milliseconds))
    }

    package func endWriting() {
        _ = cs_shutdown_write(descriptor.number)
    }

    /// The bytes that the kernel has not sent yet; nil if the system cannot tell.
    package var unsentBytes: Int? {
        let count = cs_unsent(descriptor.number)
        return count < 0 ? nil : Int(count)
    }

    private static func outcome(_ result: Int, _ attempt: String) -> Transfer {
        let error = SystemError(number: Int32(truncatingIfNeeded: -result), attempt: attempt)
        return error.wouldBlock ? .wouldBlock : .failed(error)
    }
}
