/// A fixed block of memory that system calls fill and handlers read as a span.
@safe package final class ByteStore {
    private let memory: UnsafeMutableBufferPointer<UInt8>

    package init(count: Int) {
        unsafe memory = .allocate(capacity: count)
        unsafe memory.initialize(repeating: 0)
    }

    deinit {
        unsafe memory.deallocate()
    }

    package var count: Int { unsafe memory.count }

    func fill(_ body: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Int {
        unsafe body(memory)
    }

    /// Lets `body` write from the start of the block.
    /// - Returns: how many bytes it wrote.
    func refill<E: Error>(_ body: (inout OutputSpan<UInt8>) throws(E) -> Void) throws(E) -> Int {
        var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
        try body(&output)
        return unsafe output.finalize(for: memory)
    }

    /// Passes the first bytes to `body`. The span is valid during the call only.
    func withPrefix<Result>(_ length: Int, _ body: (Span<UInt8>) throws -> Result) rethrows -> Result {
        let bytes = unsafe UnsafeBufferPointer(rebasing: memory[..<min(length, memory.count)])
        return try body(unsafe bytes.span)
    }
}

extension [UInt8] {
    /// Appends the span's bytes from `start` on, in one copy.
    package mutating func append(copying bytes: Span<UInt8>, from start: Int) {
        unsafe bytes.withUnsafeBufferPointer { source in
            guard start < source.count else { return }
            unsafe append(contentsOf: source[start...])
        }
    }
}
