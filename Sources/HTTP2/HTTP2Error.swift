/// A failure of the session; only the first and the last reach callers, who close the socket.
package enum HTTP2Error: Error, Equatable, Sendable {
    /// The first 24 bytes were not the preface: this is another protocol.
    case badPreface
    /// More acknowledgements wait to be sent than a peer that reads can cause.
    case flooded
    /// The library's own error number: out of memory, or a call of ours that was wrong.
    case library(Int)
}
