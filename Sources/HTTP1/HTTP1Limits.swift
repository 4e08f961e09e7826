/// Bounds on what one message may cost before anything of it is believed.
package struct HTTP1Limits: Sendable, Equatable {
    /// Without its CR LF. Most servers and proxies take 8 KiB.
    package var requestLine: Int
    /// All fields with their line ends and the empty line.
    package var fieldBlock: Int
    package var fieldCount: Int
    /// The default; a route may set another on the parser once it knows the head.
    package var body: Int
    /// All chunk extensions of one body. Nothing uses them; one byte of data per long extension is an attack.
    package var chunkExtensions: Int
    /// All trailer lines of one body. They are checked and dropped.
    package var trailer: Int

    /// Sizes are cut to what the slot table can address.
    package init(
        requestLine: Int = 8192,
        fieldBlock: Int = 16_384,
        fieldCount: Int = 64,
        body: Int = 1_048_576,
        chunkExtensions: Int = 1024,
        trailer: Int = 4096
    ) {
        self.requestLine = min(max(requestLine, 16), 65_000)
        self.fieldBlock = min(max(fieldBlock, 2), 65_000)
        self.fieldCount = max(fieldCount, 1)
        self.body = max(body, 0)
        self.chunkExtensions = max(chunkExtensions, 0)
        self.trailer = max(trailer, 0)
    }

    package static let server = HTTP1Limits()
    /// For answers to requests of ours: the peer chose the fields, but we chose the peer.
    package static let client = HTTP1Limits(fieldBlock: 65_000, fieldCount: 256, body: 64 << 20)
}
