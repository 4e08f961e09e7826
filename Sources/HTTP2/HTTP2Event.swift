package import HTTPModel

/// Identifies a request on its connection, which never uses the number twice.
package typealias HTTP2StreamID = Int32

/// The peer's actions, in order. Only streams that had a `request` or `refused` get later events.
package enum HTTP2Event: Sendable {
    /// A request's head, checked against RFC 9113 §8. With `end` there is no body; an `end` event still follows.
    case request(HTTP2StreamID, RequestHead, end: Bool)
    /// A legal head that exceeds our limits. The application answers with the status, ends the answer and drops the
    /// stream.
    case refused(HTTP2StreamID, HTTP2Refusal)
    /// Body bytes. They keep the peer's window closed until the application calls `consume` for them.
    case data(HTTP2StreamID, [UInt8])
    /// The request is complete.
    case end(HTTP2StreamID)
    /// Bytes had to wait on this stream, and now none are waiting.
    case drained(HTTP2StreamID)
    /// The stream is gone: both sides ended it (`noError`), or one side reset it.
    case closed(HTTP2StreamID, HTTP2ErrorCode)
    /// The peer will open no more streams.
    case goingAway(HTTP2ErrorCode)
    /// The session ends the connection for this reason: send the output, then close.
    case failed(HTTP2ErrorCode, HTTP2Abuse?)
}

/// The reason why a head is refused, with the status to answer.
package enum HTTP2Refusal: Equatable, Sendable {
    /// Status 431.
    case headTooLarge
    /// Status 431.
    case tooManyFields
    /// Status 400: the scheme is neither http nor https, or the method is CONNECT.
    case badScheme
    /// Status 400.
    case badTarget(RequestTargetError)
}

/// The limit that a peer broke; metrics use it as a label and the log prints it.
package enum HTTP2Abuse: String, Equatable, Sendable, CaseIterable {
    case headBomb = "head_bomb"
    case resets
    case forcedResets = "forced_resets"
    case pings
    case settings
    case emptyData = "empty_data"
    case priorities
    case unknownFrames = "unknown_frames"
    case windowUpdates = "window_updates"
    case continuations
    case acknowledgements
}
