/// The server's counters since its start; read for each metrics page.
package struct ServerCounters: Sendable {
    package var accepted: UInt64 = 0
    package var open = 0
    package var openStreams = 0
    package var requestsHTTP1: UInt64 = 0
    package var requestsHTTP2: UInt64 = 0
    package var handshakes: UInt64 = 0
    package var handshakesFailed: UInt64 = 0
    package var bytesIn: UInt64 = 0
    /// Bytes sent on closed connections; open connections count their own.
    package var bytesOut: UInt64 = 0
    var overLimit: UInt64 = 0
    package var stalled: UInt64 = 0
    package var timedOut: UInt64 = 0
    /// Requests refused before they had a handler, by problem code. The parsers' fixed lists bound the number of codes.
    package var refused: [String: UInt64] = [:]

    package init() {}
}
