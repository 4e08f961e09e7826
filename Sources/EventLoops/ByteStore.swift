/// A fixed piece of memory that system calls fill and handlers see as a span.
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

    /// Has `body` write from the beginning on.
    /// - Returns: how many bytes it wrote.
    func refill<E: Error>(_ body: (inout OutputSpan<UInt8>) throws(E) -> Void) throws(E) -> Int {
        var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
        try body(&output)
        return unsafe output.finalize(for: memory)
    }

    /// The first bytes, for the length of the call.
    func withPrefix<Result>(_ length: Int, _ body: (Span<UInt8>) throws -> Result) rethrows -> Result {
        let bytes = unsafe UnsafeBufferPointer(rebasing: memory[..<min(length, memory.count)])
        return try body(unsafe bytes.span)
    }
}

extension [UInt8] {
    /// One copy of the span's bytes from a place on.
    package mutating func append(copying bytes: Span<UInt8>, from start: Int) {
        unsafe bytes.withUnsafeBufferPointer { source in
            guard start < source.count else { return }
            unsafe append(contentsOf: source[start...])
        }
    }
}
