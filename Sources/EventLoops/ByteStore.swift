/// A fixed piece of memory that system calls fill and handlers see as a span.
@safe package final class ByteStore {
    private let memory: UnsafeMutableRawBufferPointer

    package init(count: Int) {
        unsafe memory = .allocate(byteCount: count, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    package var count: Int { unsafe memory.count }

    func fill(_ body: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        unsafe body(memory)
    }

    /// The first bytes, for the length of the call.
    package func withPrefix<Result>(_ length: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<min(length, memory.count)])
        return try body(unsafe bytes.bytes)
    }

    /// Lets another wrapper write into the memory; the result is how many bytes it wrote.
    package func write(_ body: (inout MutableRawSpan) throws -> Int) rethrows -> Int {
        var span = unsafe memory.mutableBytes
        return try body(&span)
    }
}
