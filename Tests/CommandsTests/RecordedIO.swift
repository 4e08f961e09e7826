import JSONBytes
import POSIX

@testable import Commands

/// A world in memory: output is kept, and a list of answers stands in for the daemon.
final class RecordedIO: CommandIO {
    enum Reply {
        case json(Int, String, [String: String] = [:])
        case raw(String)
        case fails(ClientError)
    }

    var environment: [String: String] = ["HOME": "/home/t"]
    var isOutputTerminal = false
    var isErrorTerminal = false
    var isInputTerminal = false
    var columns = 80
    var rows = 24
    /// 2026-03-04T12:00:00Z; sleeping moves it on.
    var nowMilliseconds: Int64 = 1_772_625_600_000
    var input: [UInt8] = []
    /// Keys typed during an answer: at the beginning of a piece, and so many milliseconds later.
    var keys: [(piece: String, after: Int64, key: Character)] = []
    private(set) var takesKeys: ((UInt8) -> Void)?
    /// Bytes typed on the whole screen, at the beginning of a piece and so many milliseconds later.
    var screenKeys: [(piece: String, after: Int64, bytes: String)] = []
    private(set) var screen: ((WholeScreen.Event) -> Bool)?
    private(set) var hasGivenScreenBack = false
    /// Called in each wait without a server.
    var onSleep: () -> Void = {}
    var files: [String: [UInt8]] = [:]
    var editor: ([UInt8]) -> [UInt8] = { $0 }
    var replies: [Reply] = []
    /// The bytes of an answer that arrive at once.
    var pieceSize = Int.max

    private(set) var output = ""
    private(set) var errors = ""
    private(set) var requests: [String] = []
    private(set) var paths: [String] = []
    private(set) var slept: [Int] = []

    /// Both streams in their order, as a terminal gets them.
    var onWrite: (String) -> Void = { _ in }

    func write(_ bytes: [UInt8]) {
        output += String(decoding: bytes, as: UTF8.self)
        onWrite(String(decoding: bytes, as: UTF8.self))
    }

    func writeError(_ bytes: [UInt8]) {
        errors += String(decoding: bytes, as: UTF8.self)
        onWrite(String(decoding: bytes, as: UTF8.self))
    }
    func readInput(limit: Int) -> [UInt8]? { input.count > limit ? nil : input }
    func readLine() -> String? {
        guard !input.isEmpty else { return nil }
        defer { input = [] }
        return String(decoding: input, as: UTF8.self)
    }

    func takeKeys(_ typed: ((UInt8) -> Void)?) -> Bool {
        takesKeys = isInputTerminal ? typed : nil
        return takesKeys != nil
    }

    func takeScreen(_ take: ((WholeScreen.Event) -> Bool)?) -> Bool {
        if screen != nil, take == nil { hasGivenScreenBack = true }
        screen = isInputTerminal ? take : nil
        return screen != nil
    }

    func showScreen() -> WholeScreen.State { screen == nil ? .hidden : .empty }

    func waitForKeys(milliseconds: Int) {
        sleep(milliseconds: milliseconds)
        onSleep()
        _ = typeOnScreen(before: "")
    }

    /// False if the command wants no more.
    fileprivate func typeOnScreen(before rest: String) -> Bool {
        while let screen, let next = screenKeys.first, rest.contains(next.piece) || next.piece.isEmpty {
            screenKeys.removeFirst()
            nowMilliseconds += next.after
            guard screen(.typed(Array(next.bytes.utf8))) else { return false }
        }
        return true
    }

    /// Types the keys that are due before the next piece of these bytes.
    fileprivate func type(before rest: ArraySlice<UInt8>) {
        while let typed = takesKeys, let next = keys.first {
            // A piece may end in the middle of the words.
            let piece = rest.prefix(pieceSize == .max ? .max : pieceSize + next.piece.utf8.count)
            guard next.piece.isEmpty || String(decoding: piece, as: UTF8.self).contains(next.piece) else { return }
            keys.removeFirst()
            nowMilliseconds += next.after
            typed(next.key.asciiValue ?? 0)
        }
    }

    func utcOffset(atSeconds: Int64) -> Int { 3600 }
    func sleep(milliseconds: Int) {
        slept.append(milliseconds)
        nowMilliseconds += Int64(milliseconds)
    }

    func readFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8] {
        guard let bytes = files[path] else { throw FileFault("\(path) does not exist") }
        return bytes
    }

    func readPrivateFile(_ path: String, limit: Int) throws(FileFault) -> [UInt8] { try readFile(path, limit: limit) }
    func replacePrivateFile(_ path: String, with bytes: [UInt8]) throws(FileFault) { files[path] = bytes }

    func makeTemporary(_ bytes: [UInt8], suffix: String) throws(FileFault) -> String {
        files["/tmp/ladle-1\(suffix)"] = bytes
        return "/tmp/ladle-1\(suffix)"
    }

    func remove(_ path: String) { files[path] = nil }

    func edit(_ path: String, with command: String) -> Int {
        guard command != "false" else { return 1 }
        files[path] = editor(files[path] ?? [])
        return 0
    }

    func replaceProcess(_ words: [String]) -> FileFault { FileFault(words.joined(separator: " ")) }

    func connect(to place: ServerPlace) throws(ClientError) -> any ByteChannel {
        paths.append("\(place.address)")
        guard !replies.isEmpty else { throw .notRunning(place.address) }
        switch replies.removeFirst() {
        case .fails(let error): throw error
        case .raw(let text): return Channel(self, Array(text.utf8))
        case .json(let status, let body, let fields):
            let type = status < 300 ? "application/json" : "application/problem+json"
            let lines = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
            let text =
                "HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\n\(lines)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            return Channel(self, Array(text.utf8))
        }
    }

    private final class Channel: ByteChannel {
        private unowned let io: RecordedIO
        private var rest: ArraySlice<UInt8>

        init(_ io: RecordedIO, _ bytes: [UInt8]) {
            self.io = io
            rest = bytes[...]
        }

        func send(_ bytes: [UInt8]) throws(ClientError) { io.requests.append(String(decoding: bytes, as: UTF8.self)) }

        func receive(milliseconds: Int?) throws(ClientError) -> [UInt8] {
            guard io.typeOnScreen(before: String(decoding: rest.prefix(io.pieceSize), as: UTF8.self)) else {
                throw .closed
            }
            io.type(before: rest)
            let piece = rest.prefix(io.pieceSize)
            rest = rest.dropFirst(piece.count)
            return Array(piece)
        }
    }

    /// Functions of the executable.
    var services = CommandServices(version: "1.2.3")

    /// Runs a command line and returns its exit code; nil for one of the executable's own.
    func run(_ arguments: String...) -> ExitCode? { run(arguments) }

    func run(_ arguments: [String]) -> ExitCode? {
        let runner = CommandRunner(io: self, services: services)
        guard case .finished(let code) = runner.run(arguments) else { return nil }
        return code
    }

    /// The body of request `index` as JSON.
    func body(_ index: Int) throws -> JSONValue {
        let text = requests[index]
        let start = text.firstRange(of: "\r\n\r\n")?.upperBound ?? text.endIndex
        return try JSONDocument(parsing: String(text[start...])).root
    }

    func stream(_ type: String, _ lines: [String]) -> Reply {
        let body = lines.map { $0 + "\n" }.joined()
        let chunk = String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n"
        return .raw("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)")
    }
}
