import Basics

enum HandshakeKey {
    /// The fixed text of RFC 6455 §1.3 that proves the server read the key as a WebSocket server.
    private static let salt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    static func accept(for key: String) -> String {
        Base64.encode(SHA1.digest(of: Array((key + salt).utf8)))
    }

    /// A key is 16 bytes in base64 (RFC 6455 §4.2.1).
    static func isValid(_ key: String) -> Bool {
        Base64.decode(key)?.count == 16
    }
}
