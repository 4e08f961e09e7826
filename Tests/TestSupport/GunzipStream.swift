import CZlib

/// Expands gzip piece by piece, as a client does with answers.
@safe package final class GunzipStream {
    package enum Failure: Error {
        case damaged
        case truncated
    }

    private let stream: UnsafeMutablePointer<z_stream>
    /// The whole member was read and its checksum was right.
    package private(set) var finished = false

    package init() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let begun = unsafe zlib_gunzip_begin(stream)
        precondition(begun == Z_OK)
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Appends all that `input` expands to.
    package func expand(_ input: [UInt8], into output: inout [UInt8]) throws(Failure) {
        var result = Z_OK
        unsafe input.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { room in
                // zlib never writes through next_in; its type predates const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(clamping: bytes.count)
                repeat {
                    unsafe stream.pointee.next_out = room.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(room.count)
                    result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
                    unsafe output.append(contentsOf: room[..<(room.count - Int(stream.pointee.avail_out))])
                } while unsafe result == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0)
            }
        }
        if result == Z_STREAM_END { finished = true }
        // No progress was possible: the input is used up.
        guard finished || result == Z_OK || result == Z_BUF_ERROR, unsafe stream.pointee.avail_in == 0 else {
            throw .damaged
        }
    }

    package static func expand(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        let stream = GunzipStream()
        var output: [UInt8] = []
        try stream.expand(bytes, into: &output)
        guard stream.finished else { throw .truncated }
        return output
    }
}
