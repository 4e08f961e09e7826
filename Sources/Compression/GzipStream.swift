import CZlib

/// An event stream in the gzip coding. A client can read each event as soon as it arrives.
///
/// Belongs to its connection, on one loop. An open stream takes about 54 KB, where zlib's usual settings take 268 KB:
/// by zlib's own formula a window of 2^13 takes 32 KB and a memory level of 5 takes 16 KB, beside some 6 KB of state.
/// Events repeat text from a few kilobytes before, so the small window finds most repetitions.
package final class GzipStream {
    private static let windowBits: Int32 = 13
    private static let memoryLevel: Int32 = 5
    private static let level: Int32 = 6

    private let handle: DeflateHandle
    private var finished = false

    package init() throws(CompressionError) {
        handle = try DeflateHandle(level: Self.level, windowBits: Self.windowBits, memoryLevel: Self.memoryLevel)
    }

    /// The most bytes that an event of `count` bytes can become.
    package func most(for count: Int) -> Int { handle.most(for: count) }

    /// Appends the coded form of one event, ended by a sync flush. The first call writes the gzip header before it.
    package func compress(_ event: RawSpan, into output: inout [UInt8]) {
        guard !finished, event.byteCount > 0 else { return }
        handle.deflate(event, flush: Z_SYNC_FLUSH, into: &output)
    }

    /// The same for a `Span`, because targets without C interop cannot safely get a span's raw bytes.
    package func compress(_ event: Span<UInt8>, into output: inout [UInt8]) {
        unsafe compress(event.bytes, into: &output)
    }

    package func compress(_ event: [UInt8], into output: inout [UInt8]) {
        unsafe compress(event.span.bytes, into: &output)
    }

    /// Appends the end of the stream with its checksum.
    package func finish(into output: inout [UInt8]) {
        guard !finished else { return }
        finished = true
        unsafe handle.deflate([UInt8]().span.bytes, flush: Z_FINISH, into: &output)
    }
}
