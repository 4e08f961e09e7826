import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An open file, closed with the last reference. Its calls block, so they must not run on an event loop.
package final class OpenFile: Sendable {
    let number: Int32
    let path: String

    init(_ path: String, _ flags: Int32) throws(SystemError) {
        number = unsafe open(path, flags | O_CLOEXEC, 0o600)
        self.path = path
        guard number >= 0 else { throw .last("open \(path)") }
    }

    deinit {
        if number >= 0 { cs_close(number) }
    }

    /// Opens a private regular file for appending, and creates it with mode 0600 if it does not exist. Symbolic links
    /// are refused; an existing file that other users can reach becomes private.
    package static func appending(to path: String) throws(SystemError) -> OpenFile {
        let file = try OpenFile(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK)
        let facts = try file.facts()
        guard facts.kind == .regular else { throw SystemError(number: EINVAL, attempt: "append to \(path)") }
        if facts.mode & 0o077 != 0, fchmod(file.number, 0o600) != 0 { throw .last("make private \(path)") }
        return file
    }

    /// Opens an existing private file for reading, and for writing at given offsets. Symbolic links are refused.
    package static func updating(_ path: String) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    }

    package func facts() throws(SystemError) -> FileFacts {
        guard let facts = FileFacts(descriptor: number) else { throw .last("examine \(path)") }
        return facts
    }

    /// Reads to the end, or until `limit` bytes have arrived.
    func read(atMost limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 64 << 10))
        while bytes.count < limit {
            let wanted = min(chunk.count, limit - bytes.count)
            let count = try SystemError.check(unsafe cs_read_some(number, &chunk, wanted), "read \(path)")
            guard count > 0 else { break }
            bytes += chunk[..<Int(count)]
        }
        return bytes
    }

    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try SystemError.check(unsafe cs_write_all(number, bytes, bytes.count), "write \(path)")
    }

    /// Writes at an offset in the file, as one call: a process that is killed has written all of it or nothing.
    package func write(_ bytes: [UInt8], at place: Int) throws(SystemError) {
        var count = -1
        repeat {
            count = unsafe pwrite(number, bytes, bytes.count, off_t(place))
        } while count < 0 && errno == EINTR
        guard count == bytes.count else { throw .last("write \(path)") }
    }

    package func synchronise() throws(SystemError) {
        guard fsync(number) == 0 else { throw .last("sync \(path)") }
    }
}
