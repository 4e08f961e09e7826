import Basics
import Foundation
import Synchronization
import TestSupport

/// The built program, serving from a state directory of its own until the value goes.
final class LadleProcess: Sendable {
    struct DidNotStart: Error, CustomStringConvertible {
        let description: String
    }

    let state: ScratchDirectory
    let port: UInt16
    private let process: Process
    private let lines: Mutex<[String]>

    static var program: String { built("ladle") }

    /// The path of a built program, which lies beside the test bundle.
    static func built(_ name: String) -> String {
        let here = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(filePath: here).deletingLastPathComponent().appending(path: name).path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        return package.appending(path: ".build/debug/\(name)").path
    }

    /// No variables of the caller except the sanitizer's options.
    static let environment: [String: String] = {
        var environment = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]
        for name in ["ASAN_OPTIONS", "TSAN_OPTIONS", "LD_PRELOAD"] {
            environment[name] = ProcessInfo.processInfo.environment[name]
        }
        return environment
    }()

    /// Waits for the line that names the listener, or for the end of the program.
    init(
        _ arguments: [String] = [],
        listen: String = "127.0.0.1:0",
        state: ScratchDirectory? = nil,
        demo: Bool = true,
        environment: [String: String] = [:]
    ) async throws {
        let state = try state ?? ScratchDirectory()
        let process = Process()
        process.executableURL = URL(filePath: Self.program)
        process.arguments =
            ["serve", "--state", state.path, "--listen", listen] + (demo ? ["--demo"] : []) + arguments
        process.environment = Self.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        var text = ""
        var port: UInt16?
        while port == nil {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
            // The address ends with its line.
            let complete = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            for line in complete where line.contains("listening on http") {
                port = line.split(separator: ":").last.flatMap { UInt16($0) }
            }
        }
        guard let port else {
            process.waitUntilExit()
            throw DidNotStart(description: "exit \(process.terminationStatus): \(text)")
        }
        self.state = state
        self.port = port
        self.process = process
        lines = Mutex([text])
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let more = handle.availableData
            if more.isEmpty { handle.readabilityHandler = nil }
            self?.lines.withLock { $0.append(String(decoding: more, as: UTF8.self)) }
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    var output: String { lines.withLock { $0.joined() } }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// The exit code once the program has ended, and how long that took.
    func waitForExit() -> (code: Int32, seconds: Double) {
        let start = ContinuousClock.now
        process.waitUntilExit()
        let elapsed = start.duration(to: .now).components
        return (process.terminationStatus, Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18)
    }

    // MARK: Requests

    func connect() throws -> BlockingSocket { try BlockingSocket.connect(.loopback4, port: port) }

    func request(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        host: String?? = .none,
        on socket: BlockingSocket? = nil
    ) throws -> Answer {
        let socket = try socket ?? connect()
        defer { socket.close() }
        try socket.send(requestBytes(method, path, fields + ["Connection: close"], body: body, host: host))
        var bytes: [UInt8] = []
        while let more = try? socket.receive(), !more.isEmpty { bytes += more }
        return Answer(bytes)
    }

    func requestBytes(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        host: String?? = .none
    ) -> [UInt8] {
        var text = "\(method) \(path) HTTP/1.1\r\n"
        switch host {
        case .none: text += "Host: 127.0.0.1:\(port)\r\n"
        case .some(let name?): text += "Host: \(name)\r\n"
        case .some(nil): break
        }
        for field in fields { text += field + "\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        return Array((text + "\r\n" + (body ?? "")).utf8)
    }

    /// A token made by the owner.
    func token(_ scope: String) throws -> (id: String, token: String) {
        let body = #"{"name":"test","scopes":["\#(scope)"]}"#
        let answer = try request("POST", "/v1/tokens", ["Content-Type: application/json"], body: body)
        guard let id = answer["id"], let token = answer["token"] else { throw NothingCame() }
        return (id, token)
    }
}
