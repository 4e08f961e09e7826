import Basics
import Foundation
import JSONBytes
import Synchronization
import TestSupport

/// The demo gateway in a process of its own, steered over its `/demo/...` surface, until the value goes.
final class GatewayProcess: Sendable {
    static let token = "demo-token"

    let port: UInt16
    private let process: Process

    /// `options` as for `ladle demo-gateway`, without a port.
    init(_ options: [String] = []) throws {
        let process = Process()
        process.executableURL = URL(filePath: LadleProcess.program)
        process.arguments = ["demo-gateway", "--speed", "0"] + options
        process.environment = LadleProcess.environment
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
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                guard let place = line.range(of: "ws://127.0.0.1:") else { continue }
                port = UInt16(line[place.upperBound...].prefix { $0.isNumber })
            }
        }
        guard let port else {
            process.waitUntilExit()
            throw LadleProcess.DidNotStart(description: "exit \(process.terminationStatus): \(text)")
        }
        self.port = port
        self.process = process
        output.fileHandleForReading.readabilityHandler = { handle in
            if handle.availableData.isEmpty { handle.readabilityHandler = nil }
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    var url: String { "ws://127.0.0.1:\(port)" }

    @discardableResult
    func control(_ method: String, _ path: String, body: String? = nil) throws -> Answer {
        let socket = try BlockingSocket.connect(.loopback4, port: port)
        defer { socket.close() }
        var text = "\(method) /demo/\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        try socket.send(Array((text + "\r\n" + (body ?? "")).utf8))
        var bytes: [UInt8] = []
        while let more = try? socket.receive(), !more.isEmpty { bytes += more }
        return Answer(bytes)
    }

    var state: JSONValue { get throws { try control("GET", "state").json } }

    /// A program that links to this gateway, with its token unless another is given.
    func ladle(
        _ arguments: [String] = [],
        token: String = GatewayProcess.token,
        state: ScratchDirectory? = nil
    ) async throws -> LadleProcess {
        let state = try state ?? ScratchDirectory()
        try state.write(Array((token + "\n").utf8), to: "gateway-token")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600],
            ofItemAtPath: state.file("gateway-token")
        )
        return try await LadleProcess(
            ["--gateway", url, "--token-file", state.file("gateway-token")] + arguments,
            state: state,
            demo: false
        )
    }
}

extension LadleProcess {
    /// The link's status once `holds` of it.
    @discardableResult
    func link(_ holds: (JSONValue) -> Bool) throws -> JSONValue {
        try eventually {
            guard let link = try request("GET", "/v1/status").json["link"], holds(link) else { return nil }
            return link
        }
    }

    @discardableResult
    func online() throws -> JSONValue { try link { $0["state"]?.string == "online" } }

    @discardableResult
    func link(_ state: String, _ code: String) throws -> JSONValue {
        try link { $0["state"]?.string == state && $0["code"]?.string == code }
    }

    /// Another `ladle` command, on the same state.
    func command(_ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: Self.program)
        process.arguments = arguments + ["--state", state.path]
        process.environment = LadleProcess.environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
}

extension BlockingSocket {
    /// What comes up to and with `end`; less when the peer closes.
    func read(until end: String) throws -> String {
        var text = ""
        while !text.contains(end) {
            let more = try receive()
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        return text
    }
}
