import CZlib

/// Whole answers in the gzip content coding (RFC 9110 §8.4.1.3).
package enum Gzip {
    /// Level 6 is zlib's own balance; JSON gains under 2 % from level 9 at twice the time.
    private static let level: Int32 = 6
    /// Large answers use level 1: a MiB of text takes 15 ms instead of 50 and grows by a seventh.
    private static let largeBytes = 256 << 10

    package static func compress(_ bytes: [UInt8]) throws(CompressionError) -> [UInt8] {
        let level = bytes.count > largeBytes ? 1 : Self.level
        let handle = try DeflateHandle(level: level, windowBits: MAX_WBITS, memoryLevel: 8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count / 4 + 64)
        unsafe handle.deflate(bytes.span.bytes, flush: Z_FINISH, into: &output)
        return output
    }
}
