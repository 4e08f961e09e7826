/// zlib could not get the memory it begins with; nothing else can fail.
package struct CompressionError: Error, Sendable {}
