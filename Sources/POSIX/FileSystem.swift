#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Operations on paths. They block, so they must not run on an event loop.
package enum FileSystem {
    package struct Contents: Sendable {
        package let bytes: [UInt8]
        package let facts: FileFacts
        /// False when the file is longer than the limit, or is not a regular file and was therefore not read.
        package let isWhole: Bool
    }

    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// Also true if this user may not search a directory on the path, which may hide the file.
    package static func mayExist(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || errno == EACCES
    }

    package static func isWritableDirectory(_ path: String) -> Bool {
        unsafe access(path, W_OK | X_OK) == 0
    }

    /// Nil if the system does not report it.
    package static func freeBytes(at path: String) -> UInt64? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
    }

    /// - Parameter follow: whether to look at the target of a symbolic link instead of the link.
    package static func facts(_ path: String, follow: Bool = true) throws(SystemError) -> FileFacts {
        var raw = stat()
        let result = follow ? unsafe stat(path, &raw) : unsafe lstat(path, &raw)
        guard result == 0 else { throw .last("examine \(path)") }
        return FileFacts(raw)
    }

    /// The text of a symbolic link; nil for anything else.
    package static func linkTarget(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe target.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe readlink(path, start.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        return count > 0 ? String(decoding: target.prefix(count), as: UTF8.self) : nil
    }

    /// The start of a regular file. The file is opened without blocking, so that a FIFO is reported and not waited for.
    /// The facts are those of the opened file, even if the path names another file by now.
    package static func read(_ path: String, limit: Int) throws(SystemError) -> Contents {
        let file = try OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        let facts = try file.facts()
        guard facts.kind == .regular else { return Contents(bytes: [], facts: facts, isWhole: false) }
        var bytes = try file.read(atMost: limit + 1)
        let isWhole = bytes.count <= limit
        if !isWhole { bytes.removeLast() }
        return Contents(bytes: bytes, facts: facts, isWhole: isWhole)
    }

    package static func randomBytes(_ count: Int) throws(SystemError) -> [UInt8] {
        try OpenFile("/dev/urandom", O_RDONLY | O_NOCTTY).read(atMost: count)
    }

    package static func makeDirectory(_ path: String) throws(SystemError) {
        guard unsafe mkdir(path, 0o700) == 0 else { throw .last("make the directory \(path)") }
    }

    /// Makes the directory and those above it, where they are missing.
    package static func makeDirectories(_ path: String) throws(SystemError) {
        guard !exists(path) else { return }
        try makeDirectories(folder(of: path))
        do throws(SystemError) {
            try makeDirectory(path)
        } catch {
            guard error.alreadyExists else { throw error }
        }
    }

    package static func names(in directory: String) -> [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { _ = unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }

    /// Gives the file a second name.
    package static func link(_ path: String, to target: String) throws(SystemError) {
        guard unsafe linkFile(path, target) == 0 else { throw .last("create \(target)") }
    }

    package static func rename(_ path: String, to target: String) throws(SystemError) {
        guard unsafe renameFile(path, target) == 0 else { throw .last("replace \(target)") }
    }

    /// Succeeds if the file does not exist.
    package static func remove(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
    }

    package static func give(_ path: String, user: UInt32?, group: UInt32?) throws(SystemError) {
        guard unsafe chown(path, user ?? .max, group ?? .max) == 0 else { throw .last("give away \(path)") }
    }

    package static func setMode(_ mode: UInt32, of path: String) throws(SystemError) {
        guard unsafe chmod(path, mode_t(mode)) == 0 else { throw .last("change the mode of \(path)") }
    }

    /// Makes new and removed names in a directory survive a power cut.
    package static func synchronise(directory path: String) throws(SystemError) {
        try OpenFile(path, O_RDONLY | O_DIRECTORY).synchronise()
    }

    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

// At file level, because the type's own functions hide the system's names.

private func linkFile(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
    unsafe link(path, target)
}

private func renameFile(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
    unsafe rename(path, target)
}
