/// What the server has seen since its start; read when metrics are asked for.
package struct ServerCounters: Sendable {
    package var accepted: UInt64 = 0
    package var open = 0
    package var openStreams = 0
    package var requestsHTTP1: UInt64 = 0
    package var requestsHTTP2: UInt64 = 0
    package var handshakes: UInt64 = 0
    package var handshakesFailed: UInt64 = 0
    package var bytesIn: UInt64 = 0
    /// Of connections that are closed; open ones count their own.
    package var bytesOut: UInt64 = 0
    var overLimit: UInt64 = 0
    package var stalled: UInt64 = 0
    package var timedOut: UInt64 = 0
    /// Requests refused before they had a handler, by problem code; the codes are the parsers' closed lists.
    package var refused: [String: UInt64] = [:]

    package init() {}
}
