import CZlib

/// Owns one `z_stream` for deflating in the gzip form (RFC 1952). zlib keeps the structure's address, so the structure
/// is heap-allocated.
@safe final class DeflateHandle {
    private let stream: UnsafeMutablePointer<z_stream>

    init(level: Int32, windowBits: Int32, memoryLevel: Int32) throws(CompressionError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe zlib_gzip_begin(stream, level, windowBits, memoryLevel) == Z_OK else {
            throw CompressionError()
        }
    }

    deinit {
        // `deflateEnd` is harmless when initialization failed: zlib checks for a state.
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// zlib's bound covers one call that ends the stream. The added bytes cover the empty block of a sync flush and the
    /// bits left of the block before.
    func most(for count: Int) -> Int {
        unsafe Int(clamping: deflateBound(stream, UInt(clamping: count))) + 8
    }

    /// Deflates all of `input` and appends the result; `flush` is one of zlib's constants.
    func deflate(_ input: RawSpan, flush: Int32, into output: inout [UInt8]) {
        unsafe input.withUnsafeBytes { bytes in
            unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
                // zlib never writes through next_in; its type predates const.
                let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
                unsafe stream.pointee.avail_in = UInt32(clamping: bytes.count)
                repeat {
                    unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    unsafe stream.pointee.avail_out = UInt32(room.count)
                    _ = unsafe CZlib.deflate(stream, flush)
                    let made = unsafe room.count - Int(stream.pointee.avail_out)
                    unsafe output.append(contentsOf: room[..<made])
                } while unsafe stream.pointee.avail_out == 0
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.next_out = nil
            }
        }
    }
}
