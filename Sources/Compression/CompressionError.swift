/// zlib could not allocate its state; compression cannot fail in any other way.
package struct CompressionError: Error, Sendable {}
