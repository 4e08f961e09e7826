/// What a peer may make us hold. Changeable while connected: a gateway states its own sizes in its hello.
package struct WebSocketLimits: Sendable, Equatable {
    /// Control frames are never longer (RFC 6455 §5.5).
    package static let controlPayload = 125

    /// Largest payload one frame may announce; refused at the header, before a byte of it is kept.
    package var frameBytes: Int
    /// Largest message, its fragments summed.
    package var messageBytes: Int
    /// Empty or tiny fragments cost work without adding bytes; past this many the message is refused.
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
