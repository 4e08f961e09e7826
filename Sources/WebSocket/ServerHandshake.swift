import HTTP1
package import HTTPModel

/// A client's checked upgrade request (RFC 6455 §4.2.1), and the bytes that accept or refuse it.
package struct ServerHandshake: Sendable {
    package let head: RequestHead
    package let host: String
    package let origin: String?
    private let key: String

    package var target: String { head.target }

    init(_ head: RequestHead) throws(HandshakeError) {
        guard head.version == .http11 else { throw .malformedHead }
        guard head.method == .get else { throw .methodNotAllowed(head.method.name) }
        guard let host = head.fields.only(.host) else { throw .missingHost }
        guard head.fields.has(.upgrade, token: "websocket"), head.fields.has(.connection, token: "upgrade") else {
            throw .notAnUpgrade
        }
        let version = head.fields.only(.secWebSocketVersion)
        guard version == "13" else { throw .unsupportedVersion(version) }
        guard let key = head.fields.only(.secWebSocketKey), HandshakeKey.isValid(key) else { throw .missingKey }
        self.head = head
        self.host = host
        origin = head.fields.only(.origin)
        self.key = key
    }

    /// Reads a handshake from a byte stream.
    package final class Reader {
        private var parser = HTTP1Parser(limits: .handshake)

        package init() {}

        /// Returns the handshake once its head is complete, and the number of bytes of `piece` it used; nil while more
        /// are needed. The bytes after it belong to the frames.
        package func receive(
            _ piece: Span<UInt8>
        ) throws(HandshakeError) -> (handshake: ServerHandshake, used: Int)? {
            var offset = 0
            do throws(HTTP1ParseError) {
                guard try parser.next(in: piece, from: &offset) == .head else { return nil }
            } catch {
                throw HandshakeError(error)
            }
            return (try ServerHandshake(parser.head), offset)
        }
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

    /// A complete answer that refuses the request and asks to end the connection.
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

extension HeaderFields {
    /// The value of a field that occurs exactly once, else nil: no handshake field may be repeated.
    func only(_ name: FieldName) -> String? {
        count(of: name) == 1 ? string(for: name) : nil
    }
}
