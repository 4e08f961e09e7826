/// Bytes waiting to be sent, kept as the arrays they came in, so that an event for many streams is stored once.
struct ByteQueue {
    private var chunks: [[UInt8]] = []
    /// Bytes of the first chunk that have already been moved out.
    private var offset = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else { return }
        chunks.append(chunk)
        count += chunk.count
    }

    /// Moves as many bytes as fit and returns their number.
    mutating func move(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var moved = 0
        var used = 0
        while moved < buffer.count, used < chunks.count {
            let step = min(buffer.count - moved, chunks[used].count - offset)
            unsafe chunks[used].withUnsafeBytes { chunk in
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[moved..<(moved + step)])
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: chunk[offset..<(offset + step)]))
            }
            moved += step
            offset += step
            if offset == chunks[used].count {
                used += 1
                offset = 0
            }
        }
        if used > 0 { chunks.removeFirst(used) }
        count -= moved
        return moved
    }
}
