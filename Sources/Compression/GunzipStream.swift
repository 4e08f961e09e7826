import CZlib

/// Expands gzip piece by piece up to a limit.
@safe package final class GunzipStream {
    private let stream: UnsafeMutablePointer<z_stream>
    private let limit: Int
    private var total = 0
    private var failed = false
    /// The whole member was read and its checksum was right.
    package private(set) var finished = false

    package init(limit: Int) throws(CompressionError) {
        self.limit = limit
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe zlib_gunzip_begin(stream) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Appends all that `input` expands to. After an error nothing more can be read.
    package func expand(_ input: [UInt8], into output: inout [UInt8]) throws(CompressionError) {
        guard !input.isEmpty else { return }
        guard !finished, !failed else { throw .malformed }
        do {
            try unsafe inflate(input, into: &output)
        } catch {
            failed = true
            throw error
        }
    }

    @unsafe private func inflate(_ input: [UInt8], into output: inout [UInt8]) throws(CompressionError) {
        var failure: CompressionError?
        unsafe input.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { room in
                // zlib never writes through next_in; its type predates const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(clamping: bytes.count)
                repeat {
                    unsafe stream.pointee.next_out = room.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(room.count)
                    let result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
                    let made = unsafe room.count - Int(stream.pointee.avail_out)
                    total += made
                    guard total <= limit else {
                        failure = .tooLarge(limit: limit)
                        return
                    }
                    unsafe output.append(contentsOf: room[..<made])
                    switch result {
                    case Z_STREAM_END:
                        finished = true
                        if unsafe stream.pointee.avail_in > 0 { failure = .malformed }
                        return
                    case Z_OK: continue
                    // No progress was possible: the input is used up.
                    case Z_BUF_ERROR: return
                    case Z_MEM_ERROR:
                        failure = .outOfMemory
                        return
                    default:
                        failure = .malformed
                        return
                    }
                } while unsafe stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
            }
        }
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
        if let failure { throw failure }
    }
}
