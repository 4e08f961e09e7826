/// One whole message, its fragments joined; a text message is already known to be valid UTF-8.
package struct WebSocketMessage: Sendable, Equatable {
    package enum Kind: Sendable {
        case text
        case binary
    }

    package var kind: Kind
    package var bytes: [UInt8]

    package init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }
}

/// A result of the decoder. Control frames keep their place, even between the fragments of a message.
package enum WebSocketEvent: Sendable, Equatable {
    case message(WebSocketMessage)
    case ping([UInt8])
    case pong([UInt8])
    case close(WebSocketClose)
}
