import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An exclusive lock on a private file, held by one process at a time. The file stays after release: removing it would
/// race with the next owner.
package final class FileLock: Sendable {
    private let file: Mutex<OpenFile?>

    /// Creates the file if it does not exist. Fails with `wouldBlock` if another process has the lock.
    package init(_ path: String) throws(SystemError) {
        let opened = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        guard flock(opened.number, LOCK_EX | LOCK_NB) == 0 else { throw .last("lock \(path)") }
        file = Mutex(opened)
    }

    /// Locks a file that exists, and leaves it as it is. Fails with `isNotFound` if there is none.
    package init(existing path: String) throws(SystemError) {
        // Opening a pipe would wait for its writer.
        let opened = try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard FileFacts(descriptor: opened.number)?.kind == .regular else {
            throw SystemError(number: EINVAL, attempt: "lock \(path)")
        }
        guard flock(opened.number, LOCK_EX | LOCK_NB) == 0 else { throw .last("lock \(path)") }
        file = Mutex(opened)
    }

    deinit { release() }

    /// Replaces the content of the file, for users who want to know which process has the lock.
    package func write(_ text: String) throws(SystemError) {
        let opened = file.withLock { $0 }
        guard let opened else { return }
        let bytes = Array(text.utf8)
        guard ftruncate(opened.number, 0) == 0, lseek(opened.number, 0, SEEK_SET) == 0 else {
            throw .last("write \(opened.path)")
        }
        try opened.write(bytes)
    }

    /// Unlocks before closing: a child between fork and exec has a copy of the descriptor, and closing ours alone would
    /// leave the lock with it.
    package func release() {
        file.withLock { opened in
            if let opened { _ = flock(opened.number, LOCK_UN) }
            opened = nil
        }
    }
}
