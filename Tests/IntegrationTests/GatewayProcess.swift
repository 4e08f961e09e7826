import Basics
import Foundation
import JSONBytes
import Synchronization
import TestSupport

/// The demo gateway with faults in a process of its own, controlled over `/demo/…`, until the value is released.
final class GatewayProcess: Sendable {
    static let token = "demo-token"

    let port: UInt16
    private let controlPort: UInt16
    private let process: Process

    init(_ options: [String] = []) throws {
        let process = Process()
        process.executableURL = URL(filePath: LadleProcess.built("faulty-gateway"))
        process.arguments = ["--speed", "0"] + options
        process.environment = LadleProcess.environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        var text = ""
        while !text.contains("\n") {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        func number(after words: String) -> UInt16? {
            text.range(of: words).flatMap { UInt16(text[$0.upperBound...].prefix(while: \.isNumber)) }
        }
        guard let port = number(after: "ws://127.0.0.1:"), let controlPort = number(after: "http://127.0.0.1:") else {
            process.waitUntilExit()
            throw LadleProcess.DidNotStart(description: "exit \(process.terminationStatus): \(text)")
        }
        self.port = port
        self.controlPort = controlPort
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
        let socket = try BlockingSocket.connect(.loopback4, port: controlPort)
        defer { socket.close() }
        var text = "\(method) /demo/\(path) HTTP/1.1\r\nHost: test\r\n"
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        try socket.send(Array((text + "\r\n" + (body ?? "")).utf8))
        var bytes: [UInt8] = []
        while let more = try? socket.receive(), !more.isEmpty { bytes += more }
        return Answer(bytes)
    }

    var state: JSONValue { get throws { try control("GET", "state").json } }

    /// Sets exactly these faults from now on.
    func faults(_ faults: [(name: String, value: String)]) throws {
        try control("DELETE", "faults")
        let query = faults.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let answer = try control("POST", "faults?\(query)")
        precondition(answer.status == 200, answer.body)
    }

    /// The key and text of each accepted message, in order.
    func accepted() throws -> [(key: String, text: String)] {
        try control("GET", "record").body.split(separator: "\n").map { line in
            let root = try JSONDocument(parsing: Array(line.utf8)).root
            return (root["key"]?.string ?? "", root["text"]?.string ?? "")
        }
    }

    /// A program linked to this gateway, with its token unless another is given.
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

    /// A program whose link to this gateway is up.
    func linked() async throws -> LadleProcess {
        let ladle = try await ladle()
        try ladle.online()
        return ladle
    }
}

extension LadleProcess {
    /// The link's status once `holds` returns true for it.
    @discardableResult
    func link(_ holds: (JSONValue) -> Bool) throws -> JSONValue {
        try eventually {
            guard let link = try request("GET", "/v1/status").json["link"], holds(link) else { return nil }
            return link
        }
    }

    @discardableResult
    func online() throws -> JSONValue { try link { $0["state"]?.string == "online" } }

    /// Sends a text and returns the id of its entry.
    func send(_ text: String, session: String = "main") throws -> String {
        let answer = try request("POST", "/v1/messages?session=\(session)", ["Content-Type: text/plain"], body: text)
        guard answer.status == 202, let id = answer["id"] else { throw NothingCame() }
        return id
    }

    func entry(_ id: String) throws -> JSONValue { try request("GET", "/v1/outbox/\(id)").json }

    /// The entry once it has reached one of these states.
    @discardableResult
    func entry(_ id: String, becomes states: String...) throws -> JSONValue {
        try eventually {
            let entry = try self.entry(id)
            return states.contains(entry["state"]?.string ?? "") ? entry : nil
        }
    }

    @discardableResult
    func link(_ state: String, _ code: String) throws -> JSONValue {
        try link { $0["state"]?.string == state && $0["code"]?.string == code }
    }

    /// Runs another `ladle` command on the same state.
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

extension JSONValue {
    var attemptClasses: [String] { self["attempts"]?.elements.compactMap { $0["class"]?.string } ?? [] }
}

extension BlockingSocket {
    /// Reads up to and including `end`, or less if the peer closes.
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
