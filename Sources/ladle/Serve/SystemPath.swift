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

    static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }
}
