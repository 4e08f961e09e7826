import HTTP1
import HTTP2

/// What a peer may cost before it is let go. Times in milliseconds.
package struct ServerLimits: Sendable {
    /// From the first byte of a request to the end of its head: slow-header attacks hold a connection at most so long.
    package var headMilliseconds: Int64 = 10_000
    /// Between requests. Proxies keep idle connections for 60 s; ours must not close first.
    package var idleMilliseconds: Int64 = 75_000
    /// A body must bring at least this many bytes a second, after the grace.
    package var bodyBytesPerSecond = 512
    package var bodyGraceMilliseconds: Int64 = 10_000
    /// Bytes wait and the peer takes none of them for so long.
    package var stallMilliseconds: Int64 = 10_000
    /// A TLS handshake that takes longer is no client of ours.
    package var handshakeMilliseconds: Int64 = 10_000
    /// After an answer that ends the connection: time for the peer to read it and close.
    package var lingerMilliseconds: Int64 = 2000
    package var connections = 15_000
    /// Of one address or user of this host, the owner's not counted.
    package var connectionsPerPeer = 256
    /// The uid whose connections are the owner's.
    package var owner: UInt32?
    /// Unsent bytes of ordinary answers to one peer; a peer that pipelines without reading is cut here.
    package var answerBytes = 4 << 20
    /// Pipelined bytes kept while an answer is under way; above it reading pauses.
    package var pipelinedBytes = 64 << 10
    /// JSON and text answers from this size on are compressed for clients that ask.
    var compressFrom = 1024
    var http1 = HTTP1Limits.server
    var http2 = HTTP2Limits.standard

    package init() {}

    /// At once on one HTTP/2 connection.
    package var requestsPerConnection: Int {
        get { Int(http2.concurrentStreams) }
        set { http2.concurrentStreams = UInt32(clamping: newValue) }
    }

    /// The same bounds whatever the protocol.
    package mutating func boundHeads(line: Int, bytes: Int, fields: Int) {
        http1 = HTTP1Limits(requestLine: line, fieldBlock: bytes, fieldCount: fields)
        http2.headBytes = bytes
        http2.headFields = fields
        http2.headBombBytes = 4 * bytes
    }
}
