import Basics
import Configuration
package import POSIX

/// The real process.
package final class ProcessIO: CommandIO {
    package let environment: [String: String]
    private var typed: ((UInt8) -> Void)?
    fileprivate private(set) var screen: ((WholeScreen.Event) -> Bool)?

    package init() { environment = CurrentProcess.environment }

    package var isOutputTerminal: Bool { StandardStream.output.isTerminal }
    package var isErrorTerminal: Bool { StandardStream.error.isTerminal }
    package var isInputTerminal: Bool { StandardStream.input.isTerminal }
    package var nowMilliseconds: Int64 { HostClock.wallMilliseconds }

    package var columns: Int {
        let stream = isOutputTerminal ? StandardStream.output : .error
        return stream.columns ?? environment["COLUMNS"].flatMap { Int($0) } ?? 80
    }

    package var rows: Int { StandardStream.output.rows ?? 24 }

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
        // A terminal delivers one line at a time.
        guard let piece = StandardStream.input.read(), !piece.isEmpty else { return nil }
        return String(decoding: piece, as: UTF8.self)
    }

    package func takeKeys(_ typed: ((UInt8) -> Void)?) -> Bool {
        self.typed = typed
        guard typed != nil else {
            Keyboard.end()
            return false
        }
        if isInputTerminal, Keyboard.begin() { return true }
        self.typed = nil
        return false
    }

    package func takeScreen(_ take: ((WholeScreen.Event) -> Bool)?) -> Bool {
        screen = take
        guard take != nil else {
            WholeScreen.end()
            return false
        }
        if isInputTerminal, isOutputTerminal, WholeScreen.begin() { return true }
        screen = nil
        return false
    }

    package func showScreen() -> WholeScreen.State { screen == nil ? .hidden : WholeScreen.show() }

    package func waitForKeys(milliseconds: Int) {
        guard let screen else { return sleep(milliseconds: milliseconds) }
        _ = WholeScreen.wait(for: nil, milliseconds: milliseconds, take: screen)
    }

    fileprivate var takesKeys: Bool { typed != nil }

    /// False once keys are no longer taken.
    fileprivate func type(_ key: UInt8) -> Bool {
        typed?(key)
        return typed != nil
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

    package func readPrivateFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8] {
        let contents: TextFile.Contents
        do throws(TextFile.Fault) {
            contents = try TextFile.contents(path, limit: limit)
        } catch {
            throw FileFault(error.message)
        }
        guard !contents.isExposed else { throw FileFault("others may read \(path)", hint: "chmod 600 \(path)") }
        return contents.bytes
    }

    package func replacePrivateFile(_ path: String, with bytes: [UInt8]) throws(FileFault) {
        do throws(SystemError) {
            // A home directory without `.config` is normal.
            try FileSystem.makeDirectories(FileSystem.folder(of: path))
            try PrivateFile(path).replace(with: bytes)
        } catch {
            throw FileFault("\(error)")
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

    package func replaceProcess(_ words: [String]) -> FileFault { FileFault("\(CurrentProcess.replace(with: words))") }

    /// The time for which each address of a host is tried.
    private static let connectMilliseconds = 10_000

    package func connect(to place: ServerPlace) throws(ClientError) -> any ByteChannel {
        let stream: BlockingStream
        do throws(SystemError) {
            switch place.address {
            case .unix(let path): stream = try BlockingStream(connectingTo: path)
            case .tcp(let web):
                stream = try BlockingStream(host: web.host, port: web.port, milliseconds: Self.connectMilliseconds)
            }
        } catch {
            throw Self.fault(error, at: place.address)
        }
        let channel = SocketChannel(stream, self)
        guard case .tcp(let web) = place.address, web.isEncrypted else { return channel }
        return try SecureChannel(channel, to: web, trust: place.trust)
    }

    private static func fault(_ error: SystemError, at address: ServerPlace.Address) -> ClientError {
        switch address {
        case _ where error.isRefused: return .notRunning(address)
        case .unix(let path) where error.isNotFound && PeerSockets.listens(on: path): return .deleted(path: path)
        case .unix where error.isNotFound: return .notRunning(address)
        case .unix(let path) where error.isPermission: return .notAllowed(path: path)
        case .tcp(let web) where error.isNotFound: return .unreachable(address, reason: "\(web.host) is not known")
        default: return .unreachable(address, reason: error.reason)
        }
    }
}

private final class SocketChannel: ByteChannel {
    private let stream: BlockingStream
    private unowned let io: ProcessIO

    init(_ stream: BlockingStream, _ io: ProcessIO) {
        self.stream = stream
        self.io = io
    }

    /// A peer that answers and closes early is not a failure: its answer is read and gives the reason.
    func send(_ bytes: [UInt8]) throws(ClientError) { stream.send(bytes) }

    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8] {
        if let screen = io.screen {
            switch WholeScreen.wait(for: stream, milliseconds: milliseconds, take: screen) {
            case .input: break
            case .timeOut: throw .timeOut
            case .left: throw .closed
            }
        } else {
            let isReady =
                io.takesKeys
                ? stream.waitForInput(milliseconds: milliseconds, typed: io.type)
                : stream.waitForInput(milliseconds: milliseconds)
            guard isReady else { throw .timeOut }
        }
        do throws(SystemError) {
            return try stream.receive()
        } catch {
            throw .closed
        }
    }
}
