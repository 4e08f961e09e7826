package import Basics

/// Bounds on the work and memory one connection may demand. A peer that exceeds a bound gets ENHANCE_YOUR_CALM.
package struct HTTP2Limits: Sendable {
    /// Requests open at once: the number browsers expect, and the most streams a peer can hold open.
    package var concurrentStreams: UInt32 = 100
    /// Decoded field bytes of a head, counted as in RFC 9113 §6.5.2: 16 KiB, as in HTTP/1.1. A larger head gets a 431.
    package var headBytes = 16 * 1024
    /// Fields of a head, as in HTTP/1.1. A head with more gets a 431.
    package var headFields = 64
    /// Decoded bytes of one head after which the connection ends: a few HPACK bytes can repeat a large table entry
    /// thousands of times.
    package var headBombBytes = 64 * 1024
    /// CONTINUATION frames after a HEADERS frame (VU#421644): eight of 16 KiB hold any head we accept.
    package var continuations = 8
    /// Entries in one SETTINGS frame; the protocol knows eight.
    var settingsEntries = 32
    /// Acknowledgements of PING and SETTINGS waiting for a peer that does not read.
    var outboundAcknowledgements = 200
    /// Body bytes a client may send on one stream before the application consumes them.
    package var streamWindow: UInt32 = 256 * 1024
    /// The same for all streams together: the most memory that the unread bodies of a connection can take.
    package var connectionWindow: Int32 = 1024 * 1024
    /// Bytes of a body that are thrown away behind a complete answer, before the stream is reset.
    package var lingerBytes = 64 << 20
    /// A waiting stream has made progress once its peer takes this many bytes. A peer that opens the window byte by
    /// byte therefore counts as stalled.
    var stallProgressBytes = 4 * 1024

    /// Resets by the peer (CVE-2023-44487): a page that closes may cancel all its streams a few times over.
    package var resets = TokenBucket(burst: 300, perSecond: 30)
    /// Resets that the peer's mistakes force us to send (CVE-2025-8671): they cost the same work as its own resets.
    var forcedResets = TokenBucket(burst: 100, perSecond: 10)
    /// PING frames: some clients send one for each burst of data to measure bandwidth.
    package var pings = TokenBucket(burst: 100, perSecond: 10)
    /// SETTINGS frames: settings change once or twice in a connection's life.
    package var settings = TokenBucket(burst: 20, perSecond: 1)
    /// DATA frames without bytes and without END_STREAM: they cost work and move no window.
    package var emptyData = TokenBucket(burst: 100, perSecond: 10)
    /// PRIORITY and PRIORITY_UPDATE frames: browsers send one per request and a few at the start.
    package var priorities = TokenBucket(burst: 200, perSecond: 100)
    /// WINDOW_UPDATE frames that no sent bytes account for.
    package var windowUpdates = TokenBucket(burst: 1000, perSecond: 100)
    /// One frame for so many sent bytes is a reader's: some open the windows of stream and connection again after each kilobyte.
    static let updateBytes = 512
    /// Frames of unknown types are legal (RFC 9113 §4.1) and useless.
    package var unknownFrames = TokenBucket(burst: 50, perSecond: 5)

    package static let standard = HTTP2Limits()

    package init() {}
}
