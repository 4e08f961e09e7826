#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Small private files of the state directory: read whole, replaced whole, readable by the owner only. Blocks, so never
/// on a loop.
package struct StateFile: Sendable {
    package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        package let path: String
        package let attempt: String
        package let number: Int32

        package var description: String { "cannot \(attempt) \(path): \(unsafe String(cString: strerror(number)))" }
    }

    /// Larger is not one of ours.
    private static let longest = 1 << 20

    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Nil when there is none.
    package func read() throws(Failure) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open")
        }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe readBytes(file, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= Self.longest else {
                throw Failure(path: path, attempt: "accept the size of", number: EFBIG)
            }
        }
    }

    /// All or nothing, also through a crash: a new file beside it, synced, then renamed over it.
    package func replace(with bytes: [UInt8]) throws(Failure) {
        let temporary = try written(bytes)
        guard unsafe rename(temporary.path, path) == 0 else { throw temporary.abandoned(failure("replace")) }
        syncDirectory()
    }

    /// The same where there is none yet, and `EEXIST` where there is: a key must never be written over.
    package func create(_ bytes: [UInt8]) throws(Failure) {
        let temporary = try written(bytes)
        guard unsafe linkFile(temporary.path, path) == 0 else { throw temporary.abandoned(failure("create")) }
        unsafe unlink(temporary.path)
        syncDirectory()
    }

    private func written(_ bytes: [UInt8]) throws(Failure) -> StateFile {
        let temporary = StateFile("\(path).new")
        unsafe unlink(temporary.path)
        try temporary.write(bytes)
        return temporary
    }

    private func write(_ bytes: [UInt8]) throws(Failure) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("create") }
        defer { close(file) }
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes { unsafe writeBytes(file, $0) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw abandoned(failure("write")) }
            start += count
        }
        guard fsync(file) == 0 else { throw abandoned(failure("sync")) }
    }

    private func abandoned(_ failure: Failure) -> Failure {
        unsafe unlink(path)
        return failure
    }

    private func failure(_ attempt: String) -> Failure {
        Failure(path: path, attempt: attempt, number: errno)
    }

    /// Without it a power cut may bring the old name back.
    private func syncDirectory() {
        let end = path.lastIndex(of: "/")
        let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = unsafe open(directory, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = fsync(file)
        close(file)
    }
}

// At file level, where the names are the system's and not this type's.

private func readBytes(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(file, buffer.baseAddress, buffer.count)
}

private func writeBytes(_ file: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    unsafe write(file, buffer.baseAddress, buffer.count)
}

private func linkFile(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
    unsafe link(path, target)
}
