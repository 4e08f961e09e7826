import CSystem

/// The three descriptors that a process starts with.
package enum StandardStream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// Writes everything; waits if another process made a shared terminal or pipe non-blocking. Failures are ignored,
    /// because no stream is left to report them on.
    package func write(_ bytes: [UInt8]) {
        _ = unsafe cs_write_all(rawValue, bytes, bytes.count)
    }

    /// The next bytes; empty at the end, nil after a failure.
    package func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe cs_read_some(rawValue, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer[..<Int(count)])
    }

    package var isTerminal: Bool { cs_is_terminal(rawValue) != 0 }

    /// The width of the terminal; nil if it does not report one.
    package var columns: Int? {
        let columns = Int(cs_columns(rawValue))
        return columns > 0 ? columns : nil
    }

    /// The height of the terminal; nil if it does not report one.
    package var rows: Int? {
        let rows = Int(cs_rows(rawValue))
        return rows > 0 ? rows : nil
    }

    package var facts: FileFacts? { FileFacts(descriptor: rawValue) }
}
