import Basics

/// The client's half of the opening handshake (RFC 6455 §4.1): the request, then the check of the answer.
///
/// Never sends `Origin`: it would put a native client under a gateway's browser rules. Offers no extension and no subprotocol.
package struct ClientHandshake: Sendable {
    package let request: [UInt8]
    private let accept: String
    private var reader = HandshakeHead.Reader()

    /// - Parameters:
    ///   - host: the `Host` value, with a port unless it is the scheme's default.
    ///   - path: origin form, already percent-encoded.
    ///   - nonce: 16 random bytes, new for each connection.
    package init(host: String, path: String = "/", userAgent: String, nonce: [UInt8]) {
        let key = Base64.encode(nonce)
        accept = HandshakeKey.accept(for: key)
        let lines = [
            "GET \(Self.printable(path)) HTTP/1.1",
            "Host: \(Self.printable(host))",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)",
            "Sec-WebSocket-Version: 13",
            "User-Agent: \(Self.printable(userAgent))",
            "", "",
        ]
        request = Array(lines.joined(separator: "\r\n").utf8)
    }

    /// How many bytes of `piece` belonged to the answer once the connection is upgraded; nil while more is needed.
    package mutating func receive(_ piece: Span<UInt8>) throws(HandshakeError) -> Int? {
        guard let (head, used) = try reader.receive(piece) else { return nil }
        try check(head)
        return used
    }

    private func check(_ head: HandshakeHead) throws(HandshakeError) {
        let status = try Self.status(head.startLine)
        guard status == 101 else {
            throw .refused(status: status, retryAfter: head.only("retry-after").flatMap { Int($0) })
        }
        guard head.lists("websocket", in: "upgrade"), head.lists("upgrade", in: "connection") else {
            throw .notAnUpgrade
        }
        guard head.only("sec-websocket-accept") == accept else { throw .wrongAccept }
        for field in ["sec-websocket-extensions", "sec-websocket-protocol"] where head.has(field) {
            throw .notOffered(field)
        }
    }

    private static func status(_ line: String) throws(HandshakeError) -> Int {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "HTTP/1.1", parts[1].utf8.count == 3,
            let status = Int(parts[1]), (100...599).contains(status)
        else { throw .malformedHead }
        return status
    }

    /// Drops what could end a header line; callers pass validated text, this is the last fence.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
    }
}
