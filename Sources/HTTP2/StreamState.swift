/// The session's record of one request, beside the library's own. A class, so that its queues grow in place.
final class StreamState {
    let id: HTTP2StreamID
    /// The application has received an event for this stream.
    var announced = false
    /// The stream will be reset; the application gets no more events except `closed`.
    var condemned = false
    /// The server chose to reset the stream; the peer did nothing wrong.
    var resetByUs = false
    /// The head was refused, so the body is discarded.
    var discardsBody = false
    var trailerBytes = 0
    var requestEnded = false
    /// The answer is complete and the request is not. So many more bytes of its body are taken, and thrown away; nil before that.
    var lingering: Int?
    /// Bytes of the body since the last look.
    var lingered = 0
    var responseStarted = false
    /// Body bytes that the application has received but not yet consumed.
    var unconsumed = 0

    var pending = ByteQueue()
    /// No more bytes will be appended to `pending`.
    var closing = false
    /// The library knows that this stream has nothing to send for now.
    var deferred = false
    /// Output was taken while bytes of this stream had to stay behind; `drained` follows when they are gone.
    var hasWaited = false

    /// The time since which the peer's window has kept `pending` from being sent.
    var stalledSince: UInt64?
    var sentSinceStall = 0

    init(_ id: HTTP2StreamID) {
        self.id = id
    }
}
