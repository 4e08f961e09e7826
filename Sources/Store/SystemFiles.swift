#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The system calls on files that this target makes, each once. A failed call throws its `errno`.
enum SystemFiles {
    struct Failure: Error, Equatable {
        var call: String
        var path: String
        var code: Int32

        var reason: String { unsafe String(cString: strerror(code)) }
        var isPresent: Bool { code == EEXIST }
        var isForbidden: Bool { code == EACCES || code == EPERM }
        var isLockedByOther: Bool { code == EWOULDBLOCK }
        var isFull: Bool { code == ENOSPC || code == EDQUOT }
    }

    struct Status: Equatable {
        var isDirectory: Bool
        var owner: UInt32
        var mode: UInt32
        var size: Int64
    }

    static var effectiveUser: UInt32 { geteuid() }
    static var processID: Int { Int(getpid()) }

    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    static func status(_ path: String) throws(Failure) -> Status {
        var info = stat()
        guard unsafe stat(path, &info) == 0 else { throw failure("stat", path) }
        return Status(
            isDirectory: info.st_mode & S_IFMT == S_IFDIR,
            owner: info.st_uid,
            mode: UInt32(info.st_mode) & 0o777,
            size: Int64(info.st_size)
        )
    }

    static func makeDirectory(_ path: String) throws(Failure) {
        guard unsafe mkdir(path, 0o700) == 0 else { throw failure("mkdir", path) }
    }

    static func link(_ path: String, to target: String) throws(Failure) {
        guard unsafe linkFile(path, target) == 0 else { throw failure("link", target) }
    }

    static func remove(_ path: String) throws(Failure) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw failure("unlink", path) }
    }

    /// Makes an empty private file where there is none.
    static func createPrivate(_ path: String) throws(Failure) {
        let descriptor = try openLocked(path)
        _ = close(descriptor)
    }

    /// A descriptor on a private file for reading and writing.
    static func openLocked(_ path: String) throws(Failure) -> Int32 {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        return descriptor
    }

    static func lock(_ descriptor: Int32, path: String) throws(Failure) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw failure("flock", path) }
    }

    /// Unlocks before closing: a child between fork and exec has a copy of the descriptor, and closing ours alone would leave
    /// the lock with it.
    static func release(_ descriptor: Int32) {
        _ = flock(descriptor, LOCK_UN)
        _ = close(descriptor)
    }

    /// Replaces the content and syncs it.
    static func write(_ text: String, to path: String) throws(Failure) {
        let descriptor = try openLocked(path)
        defer { _ = close(descriptor) }
        try write(text, to: descriptor, path: path)
        guard fsync(descriptor) == 0 else { throw failure("fsync", path) }
    }

    static func write(_ text: String, to descriptor: Int32, path: String) throws(Failure) {
        let bytes = Array(text.utf8)
        let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == bytes.count, ftruncate(descriptor, off_t(count)) == 0 else { throw failure("write", path) }
    }

    /// The first 4 KiB as text; nil when there is nothing to read.
    static func read(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        return read(descriptor)
    }

    static func read(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    /// Makes renames, links and removals in a directory durable.
    static func synchronise(directory path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { _ = close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("fsync", path) }
    }

    static func names(in directory: String) -> [String] {
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

    private static func failure(_ call: String, _ path: String) -> Failure {
        Failure(call: call, path: path, code: errno)
    }
}

/// At file level, where the name is the system's.
private func linkFile(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
    unsafe link(path, target)
}
