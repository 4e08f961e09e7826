/// Limits on the cost of one message, checked before any of it is trusted. Each connection stores them, so they are
/// small.
package struct HTTP1Limits: Sendable, Equatable {
    /// The longest request line, without its CR LF. Most servers and proxies accept 8 KiB.
    package var requestLine: Int { Int(lineBound) }
    /// The most bytes of all fields with their line ends and the empty line.
    package var fieldBlock: Int { Int(blockBound) }
    package var fieldCount: Int { Int(countBound) }
    /// The default length of a body; a route may set another on the parser once the head is known.
    package let body: Int
    /// The most bytes of all chunk extensions of one body. Ladle uses none; a long extension for each byte of data is
    /// an attack.
    package var chunkExtensions: Int { Int(extensionBound) }
    /// The most bytes of all trailer lines of one body. They are checked and dropped.
    package var trailer: Int { Int(trailerBound) }

    private let lineBound: UInt16
    private let blockBound: UInt16
    private let countBound: UInt16
    private let extensionBound: UInt16
    private let trailerBound: UInt16

    /// Reduces sizes to the range that the slot table can address.
    package init(
        requestLine: Int = 8192,
        fieldBlock: Int = 16_384,
        fieldCount: Int = 64,
        body: Int = 1_048_576,
        chunkExtensions: Int = 1024,
        trailer: Int = 4096
    ) {
        lineBound = UInt16(min(max(requestLine, 16), 65_000))
        blockBound = UInt16(min(max(fieldBlock, 2), 65_000))
        countBound = UInt16(min(max(fieldCount, 1), 65_000))
        self.body = max(body, 0)
        extensionBound = UInt16(min(max(chunkExtensions, 0), 65_000))
        trailerBound = UInt16(min(max(trailer, 0), 65_000))
    }

    package static let server = HTTP1Limits()
    /// For answers to our own requests: the limits are wide, because we chose the peer.
    package static let client = HTTP1Limits(fieldBlock: 65_000, fieldCount: 256, body: 64 << 20)
}
