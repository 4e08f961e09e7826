import DemoGateway
import EventLoops
import Foundation
import JSONBytes
import TestSupport

/// A demo gateway in this process, for programs that link to it through real sockets.
struct TestGateway {
    let handle: DemoGatewayHandle
    private let loop: EventLoop
    private let folder: ScratchDirectory

    init(_ options: [(String, String)] = [], port: UInt16 = 0) async throws {
        var chosen = try DemoGatewayOptions([("speed", "0"), ("port", "\(port)")] + options)
        chosen.storesUserRowAtOnce = true
        loop = try EventLoop(label: "test.gateway")
        loop.start()
        folder = try ScratchDirectory()
        let token = Data("\(chosen.token)\n".utf8)
        let file = folder.file("token")
        _ = FileManager.default.createFile(atPath: file, contents: token, attributes: [.posixPermissions: 0o600])
        handle = try await loop.startGateway(chosen)
    }

    /// What makes a program link to it.
    var arguments: [String] { ["--gateway", handle.url, "--token-file", folder.file("token")] }

    func faults(_ faults: [(name: String, value: String)]) async {
        _ = await handle.control("DELETE", "/demo/faults")
        let answer = await handle.control("POST", "/demo/faults", query: faults)
        precondition(answer.status == 200, String(decoding: answer.body, as: UTF8.self))
    }

    @discardableResult
    func control(_ method: String, _ path: String, _ query: [(name: String, value: String)] = []) async -> String {
        String(decoding: await handle.control(method, path, query: query).body, as: UTF8.self)
    }

    /// What it accepted, in order: key and text.
    func accepted() async throws -> [(key: String, text: String)] {
        try await control("GET", "/demo/record").split(separator: "\n").map { line in
            let root = try JSONDocument(parsing: Array(line.utf8)).root
            return (root["key"]?.string ?? "", root["text"]?.string ?? "")
        }
    }
}

extension EventLoop {
    fileprivate func startGateway(_ options: DemoGatewayOptions) throws -> DemoGatewayHandle {
        try DemoGatewayServer.start(options, on: self)
    }
}

extension LadleProcess {
    convenience init(linkedTo gateway: TestGateway, _ arguments: [String] = []) async throws {
        try await self.init(gateway.arguments + arguments, demo: false)
        try link(is: "online")
    }

    /// Waits until the link says so.
    func link(is state: String) throws {
        try eventually { try request("GET", "/v1/status").json["link"]?["state"]?.string == state ? true : nil }
    }

    /// The id of the entry a text became.
    func send(_ text: String, session: String = "main") throws -> String {
        let answer = try request("POST", "/v1/messages?session=\(session)", ["Content-Type: text/plain"], body: text)
        guard answer.status == 202, let id = answer["id"] else { throw NothingCame() }
        return id
    }

    func entry(_ id: String) throws -> JSONValue { try request("GET", "/v1/outbox/\(id)").json }

    /// The entry once it has come to a state.
    @discardableResult
    func entry(_ id: String, becomes states: String...) throws -> JSONValue {
        try eventually {
            let entry = try self.entry(id)
            return states.contains(entry["state"]?.string ?? "") ? entry : nil
        }
    }
}

extension JSONValue {
    var attemptClasses: [String] { self["attempts"]?.elements.compactMap { $0["class"]?.string } ?? [] }
    var firstAttempt: String? { self["attempts"]?.elements.compactMap { $0["at"]?.string }.first }
}
