package import HTTPModel

/// Identifies a request on its connection; never used twice there.
package typealias HTTP2StreamID = Int32

/// What the peer did, in order. Only streams that had a `request` or `refused` get later events.
package enum HTTP2Event: Sendable {
    /// A request's head, checked against RFC 9113 §8; with `end`, there is no body. `end` follows as an event too.
    case request(HTTP2StreamID, RequestHead, end: Bool)
    /// A head that is legal HTTP/2 but more than we take. Answer it with the status, end the answer, and forget it.
    case refused(HTTP2StreamID, HTTP2Refusal)
    /// Body bytes. They hold the peer's window until `consume` is called for them.
    case data(HTTP2StreamID, [UInt8])
    /// The request is complete.
    case end(HTTP2StreamID)
    /// Bytes had to wait on this stream, and none does now.
    case drained(HTTP2StreamID)
    /// The stream is gone: ended on both sides with `noError`, or reset by either.
    case closed(HTTP2StreamID, HTTP2ErrorCode)
    /// The peer will open no more streams.
    case goingAway(HTTP2ErrorCode)
    /// We are ending the connection for this reason: send the output, then close.
    case failed(HTTP2ErrorCode, HTTP2Abuse?)
}

/// Why a head is not taken.
package enum HTTP2Refusal: Equatable, Sendable {
    /// Status 431.
    case headTooLarge
    /// Status 431.
    case tooManyFields
    /// Status 400: neither http nor https. CONNECT is here too.
    case badScheme
    /// Status 400.
    case badTarget(RequestTargetError)
}

/// Which limit of ours a peer broke: the label of a metric and the words of a log line.
package enum HTTP2Abuse: String, Equatable, Sendable, CaseIterable {
    case headBomb = "head_bomb"
    case resets
    case forcedResets = "forced_resets"
    case pings
    case settings
    case emptyData = "empty_data"
    case priorities
    case unknownFrames = "unknown_frames"
    case continuations
    case acknowledgements
}
