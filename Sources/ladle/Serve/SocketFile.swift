import Commands
import EventLoops

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A Unix socket's place in the file system. Whoever holds the lock beside it owns the place: a socket found there
/// without its lock held is left over and may go, unless it is another program's, which knows no locks and answers.
final class SocketFile: Sendable {
    let path: String
    private let lock: Int32

    enum Fault: Error, Equatable {
        case inUse(String)
        case notASocket(String)
        case unusable(String, reason: String)
        case notGiven(String, reason: String)

        var status: ExitCode {
            if case .notGiven = self { .noPermission } else { .unavailable }
        }

        var message: String {
            switch self {
            case .inUse(let path): "\(path) is in use by another process"
            case .notASocket(let path): "\(path) exists and is not a socket; move it away or choose another path"
            case .unusable(let path, let reason): "cannot use \(path): \(reason)"
            case .notGiven(let path, let reason): "unix.owner: \(path) cannot be given away: \(reason)"
            }
        }
    }

    /// Takes the lock and clears the place.
    init(claiming path: String) throws(Fault) {
        let descriptor = unsafe open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(path + ".lock", reason: Self.reason()) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .inUse(path)
        }
        var facts = stat()
        if unsafe lstat(path, &facts) == 0 {
            guard facts.st_mode & S_IFMT == S_IFSOCK else {
                close(descriptor)
                throw .notASocket(path)
            }
            guard Self.isLeftOver(path) else {
                close(descriptor)
                throw .inUse(path)
            }
            _ = unsafe unlink(path)
        }
        self.path = path
        lock = descriptor
    }

    private static func isLeftOver(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try Socket.connect(to: .unix(path: path))
            return false
        } catch {
            return error.number == ECONNREFUSED || error.number == ENOENT
        }
    }

    /// Owner first: with the mode first it would be open to the wrong group for a moment.
    func give(to owner: SocketOwner?, mode: UInt32) throws(Fault) {
        if let owner, unsafe chown(path, owner.user ?? .max, owner.group ?? .max) != 0 {
            throw .notGiven(path, reason: Self.reason())
        }
        guard unsafe chmod(path, mode) == 0 else { throw .unusable(path, reason: Self.reason()) }
    }

    /// The socket goes while the lock is still ours. The lock file stays: to remove it would race with who waits for it.
    func remove() {
        _ = unsafe unlink(path)
    }

    deinit {
        close(lock)
    }

    private static func reason() -> String {
        unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
    }
}
