import Basics
import Configuration
import POSIX

/// The real process.
package final class ProcessIO: CommandIO {
    package let environment: [String: String]

    package init() { environment = CurrentProcess.environment }

    package var isOutputTerminal: Bool { StandardStream.output.isTerminal }
    package var isErrorTerminal: Bool { StandardStream.error.isTerminal }
    package var isInputTerminal: Bool { StandardStream.input.isTerminal }
    package var nowMilliseconds: Int64 { HostClock.wallMilliseconds }

    package var columns: Int {
        let stream = isOutputTerminal ? StandardStream.output : .error
        return stream.columns ?? environment["COLUMNS"].flatMap { Int($0) } ?? 80
    }

    package func write(_ bytes: [UInt8]) { StandardStream.output.write(bytes) }
    package func writeError(_ bytes: [UInt8]) { StandardStream.error.write(bytes) }

    package func readInput(limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard let piece = StandardStream.input.read(), !piece.isEmpty else { return bytes }
            bytes += piece
        }
        return nil
    }

    package func readLine() -> String? {
        // A terminal gives one line at a time.
        guard let piece = StandardStream.input.read(), !piece.isEmpty else { return nil }
        return String(decoding: piece, as: UTF8.self)
    }

    package func utcOffset(atSeconds seconds: Int64) -> Int { HostClock.utcOffset(atSeconds: seconds) }
    package func sleep(milliseconds: Int) { HostClock.sleep(milliseconds: milliseconds) }

    package func readFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8] {
        do throws(TextFile.Fault) {
            return try TextFile.read(path, limit: limit)
        } catch {
            throw FileFault(error.message)
        }
    }

    package func makeTemporary(_ bytes: [UInt8], suffix: String) throws(FileFault) -> String {
        let folder = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        do throws(SystemError) {
            return try PrivateFile.temporary(bytes, folder: folder, suffix: suffix).path
        } catch {
            throw FileFault("\(error)")
        }
    }

    package func remove(_ path: String) { try? FileSystem.remove(path) }
    package func edit(_ path: String, with command: String) -> Int { CurrentProcess.edit(path, with: command) }

    package func connect(_ path: String) throws(ClientError) -> any ByteChannel {
        do throws(SystemError) {
            return SocketChannel(try BlockingStream(connectingTo: path))
        } catch {
            if error.isNotFound || error.isRefused { throw .notRunning(path: path) }
            if error.isPermission { throw .notAllowed(path: path) }
            throw .unreachable(path: path, reason: error.reason)
        }
    }
}

private final class SocketChannel: ByteChannel {
    private let stream: BlockingStream

    init(_ stream: BlockingStream) { self.stream = stream }

    /// A peer that has answered and closed early is no failure: its answer is read and says why.
    func send(_ bytes: [UInt8]) throws(ClientError) { stream.send(bytes) }

    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8] {
        guard stream.waitForInput(milliseconds: milliseconds) else { throw .timeOut }
        do throws(SystemError) {
            return try stream.receive()
        } catch {
            throw .closed
        }
    }
}
