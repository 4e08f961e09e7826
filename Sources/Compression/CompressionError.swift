/// Why bytes could not be compressed or expanded.
package enum CompressionError: Error, Equatable, Sendable {
    /// zlib could not get its memory.
    case outOfMemory
    /// Input that is no gzip, or damaged, or was given after the end.
    case malformed
    /// The input ended before the stream did.
    case truncated
    /// More came out than the caller allows.
    case tooLarge(limit: Int)
}
