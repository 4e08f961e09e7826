/// A failure of the session. Only `badPreface` and `library` reach callers, who then close the socket.
package enum HTTP2Error: Error, Equatable, Sendable {
    /// The first 24 bytes are not the preface: the peer speaks another protocol.
    case badPreface
    /// More acknowledgements wait to be sent than any peer that reads can cause.
    case flooded
    /// The library's own error number: it ran out of memory, or Ladle called it wrongly.
    case library(Int)
}
