import Basics
import HTTP1
import HTTPModel

/// The client's half of the opening handshake (RFC 6455 §4.1): the request, then the check of the answer.
///
/// The request never contains `Origin`, which would put a native client under a gateway's browser rules. It offers no
/// extension.
package struct ClientHandshake: Sendable {
    package let request: [UInt8]
    private let accept: String
    private let subprotocol: String?
    private var parser = HTTP1ResponseParser(requestMethod: .get, limits: .handshake)

    /// - Parameters:
    ///   - host: the `Host` value, with a port unless it is the scheme's default.
    ///   - path: origin form, already percent-encoded.
    ///   - subprotocol: what is spoken over the connection, where that has a name. The server has to agree.
    ///   - nonce: 16 random bytes, new for each connection.
    package init(host: String, path: String = "/", subprotocol: String? = nil, userAgent: String, nonce: [UInt8]) {
        let key = Base64.encode(nonce)
        accept = HandshakeKey.accept(for: key)
        self.subprotocol = subprotocol
        let lines =
            [
                "GET \(Self.printable(path)) HTTP/1.1",
                "Host: \(Self.printable(host))",
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Key: \(key)",
                "Sec-WebSocket-Version: 13",
                "User-Agent: \(Self.printable(userAgent))",
            ] + (subprotocol.map { ["Sec-WebSocket-Protocol: \(Self.printable($0))"] } ?? []) + ["", ""]
        request = Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Once the connection is upgraded, the number of bytes of `piece` that belong to the answer; nil while more are
    /// needed.
    package mutating func receive(_ piece: Span<UInt8>) throws(HandshakeError) -> Int? {
        var offset = 0
        do throws(HTTP1ParseError) {
            guard try parser.next(in: piece, from: &offset) == .head else { return nil }
        } catch {
            throw HandshakeError(error)
        }
        try check(parser.head)
        return offset
    }

    private func check(_ head: ResponseHead) throws(HandshakeError) {
        guard head.version == .http11 else { throw .malformedHead }
        guard head.status == .switchingProtocols else {
            let retryAfter = head.fields.only(.retryAfter).flatMap { Int($0) }
            throw .refused(status: Int(head.status.code), retryAfter: retryAfter)
        }
        guard head.fields.has(.upgrade, token: "websocket"), head.fields.has(.connection, token: "upgrade") else {
            throw .notAnUpgrade
        }
        guard head.fields.only(.secWebSocketAccept) == accept else { throw .wrongAccept }
        if head.fields.contains(.secWebSocketExtensions) { throw .notOffered("sec-websocket-extensions") }
        guard let subprotocol else {
            if head.fields.contains(.secWebSocketProtocol) { throw .notOffered("sec-websocket-protocol") }
            return
        }
        guard head.fields.only(.secWebSocketProtocol) == subprotocol else { throw .notSpoken(subprotocol) }
    }

    /// Drops control characters, which could end a header line. Callers validate the text already; this is the last
    /// guard.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
    }
}
