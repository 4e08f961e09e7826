import Basics
import CSystem
import Configuration

/// The real process: the only file of this target that calls the system.
package final class ProcessIO: CommandIO {
    package let environment: [String: String]

    package init() {
        var environment: [String: String] = [:]
        var index = 0
        while let entry = unsafe cs_client_environment(index) {
            let text = unsafe String(cString: entry)
            if let equals = text.firstIndex(of: "="), equals != text.startIndex {
                environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            index += 1
        }
        self.environment = environment
    }

    package var isOutputTerminal: Bool { cs_client_is_terminal(1) != 0 }
    package var isErrorTerminal: Bool { cs_client_is_terminal(2) != 0 }
    package var isInputTerminal: Bool { cs_client_is_terminal(0) != 0 }
    package var nowMilliseconds: Int64 { cs_wall_ms() }

    package var columns: Int {
        let columns = Int(cs_client_columns(isOutputTerminal ? 1 : 2))
        return columns > 0 ? columns : environment["COLUMNS"].flatMap { Int($0) } ?? 80
    }

    package func write(_ bytes: [UInt8]) { Self.write(1, bytes) }
    package func writeError(_ bytes: [UInt8]) { Self.write(2, bytes) }

    /// Nobody is left to tell when this fails.
    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes { unsafe cs_client_write(descriptor, $0.baseAddress, $0.count) }
    }

    package func readInput(limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard let piece = Self.read(0), !piece.isEmpty else { return bytes }
            bytes += piece
        }
        return nil
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe cs_client_read(descriptor, $0.baseAddress, $0.count) }
        return count < 0 ? nil : Array(buffer[..<Int(count)])
    }

    package func utcOffset(atSeconds seconds: Int64) -> Int { Int(cs_client_utc_offset(seconds)) }
    package func sleep(milliseconds: Int) { cs_client_sleep(Int32(clamping: milliseconds)) }

    package func readFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8] {
        do throws(TextFile.Fault) {
            return try TextFile.read(path, limit: limit)
        } catch {
            throw FileFault(error.message)
        }
    }

    package func makeTemporary(_ bytes: [UInt8], suffix: String) throws(FileFault) -> String {
        let folder = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var path = Array("\(folder)/ladle-XXXXXX\(suffix)".utf8CString)
        let descriptor = unsafe path.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return Int32(-1) }
            return unsafe cs_client_temporary(base, Int32(suffix.utf8.count))
        }
        guard descriptor >= 0 else { throw FileFault("no temporary file can be made in \(folder)") }
        defer { cs_close(descriptor) }
        let written = unsafe bytes.withUnsafeBytes { unsafe cs_client_write(descriptor, $0.baseAddress, $0.count) }
        let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard written == 0 else { throw FileFault("\(name) cannot be written") }
        return name
    }

    package func remove(_ path: String) { _ = unsafe cs_client_remove(path) }
    package func edit(_ path: String, with command: String) -> Int { Int(unsafe cs_client_edit(command, path)) }

    package func connect(_ path: String) throws(ClientError) -> any ByteChannel {
        let descriptor = unsafe cs_client_connect(path)
        guard descriptor < 0 else { return SocketChannel(descriptor) }
        switch -descriptor {
        case Int32(CLIENT_ENOENT), Int32(CLIENT_ECONNREFUSED): throw .notRunning(path: path)
        case Int32(CLIENT_EACCES), Int32(CLIENT_EPERM): throw .notAllowed(path: path)
        default:
            let reason = unsafe cs_client_error_text(-descriptor).map { unsafe String(cString: $0) }
            throw .unreachable(path: path, reason: reason ?? "error \(-descriptor)")
        }
    }
}

/// Owns the descriptor of one connection.
private final class SocketChannel: ByteChannel {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { cs_close(descriptor) }

    /// A peer that has answered and closed early is read, not mourned: the answer says why.
    func send(_ bytes: [UInt8]) throws(ClientError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe cs_write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8] {
        guard cs_client_wait(descriptor, 0, milliseconds.map { Int32(clamping: $0) } ?? -1) > 0 else { throw .timeOut }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe cs_client_read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .closed }
        return Array(buffer[..<Int(count)])
    }
}
