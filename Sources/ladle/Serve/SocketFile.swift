import Commands
import EventLoops

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The path of a Unix socket, owned by the process that holds the lock file beside it. A socket found there is removed if
/// nobody holds its lock and nobody answers: other programs do not know the lock.
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

    /// The owner of a Unix socket: `USER`, `USER:GROUP` or `:GROUP`, by name or number.
    struct Owner: Sendable, Equatable {
        struct Fault: Error, Equatable {
            let message: String
        }

        let user: UInt32?
        let group: UInt32?

        init(_ text: String) throws(Fault) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let (userName, groupName) = (parts[0], parts.count > 1 ? parts[1] : "")
            guard !userName.isEmpty || !groupName.isEmpty else {
                throw Fault(message: "write USER, USER:GROUP or :GROUP, not \(text)")
            }
            user = userName.isEmpty ? nil : UInt32(userName) ?? Self.user(named: userName)
            group = groupName.isEmpty ? nil : UInt32(groupName) ?? Self.group(named: groupName)
            if user == nil, !userName.isEmpty { throw Fault(message: "there is no user \(userName)") }
            if group == nil, !groupName.isEmpty { throw Fault(message: "there is no group \(groupName)") }
        }

        // Not safe for several threads, and called only before the event loop starts.
        private static func user(named name: String) -> UInt32? {
            unsafe getpwnam(name).map { unsafe $0.pointee.pw_uid }
        }

        private static func group(named name: String) -> UInt32? {
            unsafe getgrnam(name).map { unsafe $0.pointee.gr_gid }
        }
    }

    /// Takes the lock, and removes a socket that an earlier process left behind.
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
            guard unsafe unlink(path) == 0 else {
                let reason = Self.reason()
                close(descriptor)
                throw .unusable(path, reason: reason)
            }
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

    /// Sets the owner first: with the mode first the wrong group could connect for a moment.
    func give(to owner: Owner?, mode: UInt32) throws(Fault) {
        if let owner, unsafe chown(path, owner.user ?? .max, owner.group ?? .max) != 0 {
            throw .notGiven(path, reason: Self.reason())
        }
        guard unsafe chmod(path, mode) == 0 else { throw .unusable(path, reason: Self.reason()) }
    }

    /// The lock file stays: another process may already wait for its lock.
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
