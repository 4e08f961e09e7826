import EventLoops
import HTTP1
import HTTP2

/// The limits on each peer's use of the server. Times are in milliseconds.
package struct ServerLimits: Sendable {
    /// From the first byte of a request to the end of its head. Limits how long a slow-header attack holds a
    /// connection.
    package var headMilliseconds: Int64 = 10_000
    /// Between requests. Proxies keep idle connections for 60 s; the server must not close first.
    package var idleMilliseconds: Int64 = 75_000
    /// After the grace period a body must arrive at this rate at least, in bytes per second.
    package var bodyBytesPerSecond = 512
    package var bodyGraceMilliseconds: Int64 = 10_000
    /// The longest time that output may wait without the peer taking any of it.
    package var stallMilliseconds: Int64 = 10_000
    /// The time limit of a TLS handshake.
    package var handshakeMilliseconds: Int64 = 10_000
    /// After an answer that ends the connection: the peer's time to read it and close.
    package var lingerMilliseconds: Int64 = 2000
    package var connections = 15_000
    /// The limit for one remote address, or one user of this host. The owner's connections are not counted.
    package var connectionsPerPeer = 256
    /// The uid whose connections count as the owner's.
    package var owner: UInt32?
    /// Whether the system names the user of each connection of loopback. A client without one has left before it was looked up.
    package var namesUsers = false
    /// The most unsent bytes of ordinary answers to one peer; above it, a peer that pipelines without reading is cut
    /// off.
    package var answerBytes = 4 << 20
    /// The most bytes of larger answers that wait for all peers together.
    package var unreadAnswers = 128 << 20
    /// The most bytes of larger bodies of requests that are not answered yet, of all peers together.
    package var unfinishedBodies = 128 << 20
    /// The most pipelined bytes kept while an answer is open; above it reading pauses.
    package var pipelinedBytes = 64 << 10
    /// JSON and text answers of at least this size are compressed for clients that accept it.
    var compressFrom = 1024
    var http1 = HTTP1Limits.server
    var http2 = HTTP2Limits.standard

    package init() {}

    /// Whether the body of a request arrives fast enough.
    func isOnTime(_ exchange: Exchange, on loop: isolated EventLoop) -> Bool {
        let milliseconds = Int64(clamping: (loop.now &- exchange.startedAt) / 1_000_000) - bodyGraceMilliseconds
        return milliseconds <= 0 || Int64(exchange.body.count) * 1000 >= Int64(bodyBytesPerSecond) * milliseconds
    }

    /// The most concurrent requests on one HTTP/2 connection.
    package var requestsPerConnection: Int {
        get { Int(http2.concurrentStreams) }
        set { http2.concurrentStreams = UInt32(clamping: newValue) }
    }

    /// Sets the same limits for both protocols.
    package mutating func boundHeads(line: Int, bytes: Int, fields: Int) {
        http1 = HTTP1Limits(requestLine: line, fieldBlock: bytes, fieldCount: fields)
        http2.headBytes = bytes
        http2.headFields = fields
        http2.headBombBytes = 4 * bytes
    }
}
