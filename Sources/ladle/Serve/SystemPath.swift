import EventLoops

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Questions to the file system that only serving asks.
enum SystemPath {
    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// What is not there is as good as removed.
    static func remove(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw SystemError(number: errno, attempt: "remove \(path)")
        }
    }
}
