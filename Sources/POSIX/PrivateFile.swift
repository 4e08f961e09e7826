import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A small file that only its owner can read (mode 0600), read and written as a whole. Blocks, so never on a loop.
package struct PrivateFile: Sendable {
    /// Ladle's private files are smaller; a larger file is refused.
    private static let longest = 1 << 20

    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Nil if the file does not exist.
    package func read() throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            let contents = try FileSystem.read(path, limit: Self.longest)
            if contents.isWhole { return contents.bytes }
            let isRegular = contents.facts.kind == .regular
            throw SystemError(number: isRegular ? EFBIG : EINVAL, attempt: "read \(path)")
        } catch {
            if error.isNotFound { return nil }
            throw error
        }
    }

    /// Atomic, even in a crash: writes and syncs a new file in the same directory, then renames it over the old one.
    package func replace(with bytes: [UInt8]) throws(SystemError) {
        let temporary = try makeTemporary(bytes)
        do throws(SystemError) {
            try FileSystem.rename(temporary.path, to: path)
        } catch {
            try? FileSystem.remove(temporary.path)
            throw error
        }
        try? FileSystem.synchronise(directory: FileSystem.folder(of: path))
    }

    /// Like `replace`, but fails with `alreadyExists` if the file exists: a key must never be overwritten.
    package func create(_ bytes: [UInt8]) throws(SystemError) {
        let temporary = try makeTemporary(bytes)
        defer { try? FileSystem.remove(temporary.path) }
        try FileSystem.link(temporary.path, to: path)
        try? FileSystem.synchronise(directory: FileSystem.folder(of: path))
    }

    /// For a path that the user chose, next to which no temporary file may be created: creates the file under its own
    /// name, and removes it if the write fails. Fails with `alreadyExists` if the file exists.
    package func createDirectly(_ bytes: [UInt8]) throws(SystemError) {
        let file = try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        do throws(SystemError) {
            try file.write(bytes)
            try file.synchronise()
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
    }

    /// Creates an empty file if it does not exist.
    package func createIfMissing() throws(SystemError) {
        _ = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW)
    }

    private func makeTemporary(_ bytes: [UInt8]) throws(SystemError) -> PrivateFile {
        let temporary = PrivateFile("\(path).new")
        try? FileSystem.remove(temporary.path)
        try temporary.createDirectly(bytes)
        return temporary
    }

    /// Creates a file with a random name, for an editor to open.
    package static func temporary(_ bytes: [UInt8], folder: String, suffix: String) throws(SystemError) -> PrivateFile {
        var template = Array("\(folder)/ladle-XXXXXX\(suffix)".utf8CString)
        let number = unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_temporary(buffer.baseAddress, Int32(suffix.utf8.count))
        }
        try SystemError.check(number, "make a temporary file in \(folder)")
        defer { cs_close(number) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try SystemError.check(unsafe cs_write_all(number, bytes, bytes.count), "write \(path)")
        return PrivateFile(path)
    }
}
