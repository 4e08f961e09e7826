import CSystem

/// A connection for command-line programs: its calls block.
package final class BlockingStream: Sendable {
    private let number: Int32

    package init(connectingTo path: String) throws(SystemError) {
        number = unsafe cs_blocking_connect(path)
        try SystemError.check(number, "connect to \(path)")
    }

    /// - Parameter milliseconds: how long each address of the host is tried.
    package init(host: String, port: UInt16, milliseconds: Int) throws(SystemError) {
        number = unsafe cs_blocking_connect_host(host, port, Int32(clamping: milliseconds))
        try SystemError.check(number, "connect to \(host) port \(port)")
    }

    var descriptor: Int32 { number }

    deinit {
        if number >= 0 { cs_close(number) }
    }

    /// Sends everything, or as much as the peer accepts before it closes.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe cs_write(number, $0.baseAddress, $0.count) }
            if count < 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    /// False if nothing arrived in time; nil waits without end.
    package func waitForInput(milliseconds: Int?) -> Bool {
        cs_wait(number, 0, milliseconds.map { Int32(clamping: $0) } ?? -1) > 0
    }

    enum Ready { case input, key, timeOut }

    func waitForInputOrKey(milliseconds: Int?) -> Ready {
        let ready = cs_wait_two(number, StandardStream.input.rawValue, milliseconds.map { Int32(clamping: $0) } ?? -1)
        // After a failure the read reports the reason.
        if ready < 0 || ready & 1 != 0 { return .input }
        return ready == 0 ? .timeOut : .key
    }

    /// The next bytes; empty at the end.
    package func receive() throws(SystemError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = try SystemError.check(unsafe cs_read_some(number, &buffer, buffer.count), "read from a socket")
        return Array(buffer[..<Int(count)])
    }
}
