/// What the session knows of one request beside the library's own record. A class, so that queues grow in place.
final class StreamState {
    let id: HTTP2StreamID
    /// The application has heard of it.
    var announced = false
    /// We decided to reset it; nothing more is told to the application.
    var condemned = false
    /// The reset is the application's wish, not the peer's fault.
    var resetByUs = false
    /// The head was refused: its body is thrown away.
    var discardsBody = false
    var trailerBytes = 0
    var requestEnded = false
    var responseStarted = false
    /// Body bytes given to the application and not yet consumed.
    var unconsumed = 0

    var pending = ByteQueue()
    /// No more will be appended to `pending`.
    var closing = false
    /// The library was told that there is nothing to send for now.
    var deferred = false
    /// Output was taken and bytes stayed behind: the producer will hear when they are gone.
    var hasWaited = false

    /// Since when the peer's window has kept `pending` from going out.
    var stalledSince: UInt64?
    var sentSinceStall = 0

    init(_ id: HTTP2StreamID) {
        self.id = id
    }
}
