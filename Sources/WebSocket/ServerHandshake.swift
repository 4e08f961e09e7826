/// A client's request to upgrade, checked (RFC 6455 §4.2.1), and the bytes that accept or refuse it.
package struct ServerHandshake: Sendable {
    package let target: String
    package let host: String
    package let origin: String?
    package let head: HandshakeHead
    private let key: String

    package init(_ head: HandshakeHead) throws(HandshakeError) {
        let parts = head.startLine.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "HTTP/1.1", !parts[1].isEmpty else { throw .malformedHead }
        guard parts[0] == "GET" else { throw .methodNotAllowed(String(parts[0])) }
        guard let host = head.only("host") else { throw .missingHost }
        guard head.lists("websocket", in: "upgrade"), head.lists("upgrade", in: "connection") else {
            throw .notAnUpgrade
        }
        guard head.only("sec-websocket-version") == "13" else {
            throw .unsupportedVersion(head.only("sec-websocket-version"))
        }
        guard let key = head.only("sec-websocket-key"), HandshakeKey.isValid(key) else { throw .missingKey }
        target = String(parts[1])
        self.host = host
        origin = head.only("origin")
        self.head = head
        self.key = key
    }

    /// The 101 answer; frames may follow it in the same write.
    package var response: [UInt8] {
        let lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(HandshakeKey.accept(for: key))",
            "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// A whole answer that refuses a request and asks for the connection to end.
    package static func refusal(_ error: HandshakeError) -> [UInt8] {
        var lines = ["HTTP/1.1 \(error.status) \(phrase(error.status))", "Connection: close", "Content-Length: 0"]
        if error.status == 426 { lines += ["Upgrade: websocket", "Sec-WebSocket-Version: 13"] }
        if error.status == 405 { lines.append("Allow: GET") }
        return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 405: "Method Not Allowed"
        case 426: "Upgrade Required"
        case 431: "Request Header Fields Too Large"
        default: "Bad Request"
        }
    }
}
