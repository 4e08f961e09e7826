/// Bounds on the memory a peer can make Ladle hold. They can change while connected: a gateway states its own in its
/// hello.
package struct WebSocketLimits: Sendable, Equatable {
    /// The longest payload of a control frame (RFC 6455 §5.5).
    package static let controlPayload = 125

    /// The largest payload one frame may announce. A larger one is refused at its header, before any byte of it is
    /// kept.
    package var frameBytes: Int
    /// The largest message, as the sum of its fragments.
    package var messageBytes: Int
    /// The most fragments of one message. Empty or tiny fragments cost work without adding bytes.
    package var fragments: Int

    package init(frameBytes: Int, messageBytes: Int, fragments: Int = 65_536) {
        self.frameBytes = max(frameBytes, 0)
        self.messageBytes = max(messageBytes, 0)
        self.fragments = max(fragments, 1)
    }

    package init(messageBytes: Int) {
        self.init(frameBytes: messageBytes, messageBytes: messageBytes)
    }
}
