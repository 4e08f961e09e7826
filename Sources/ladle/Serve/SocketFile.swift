import Commands
import EventLoops
import POSIX

/// The path of a Unix socket, owned by the process that holds the lock file beside it. A socket found there is removed if
/// nobody holds its lock and nobody answers: other programs do not know the lock.
final class SocketFile: Sendable {
    let path: String
    private let lock: FileLock

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
            // `UserDatabase` is for one thread: this runs before the event loop starts.
            user = userName.isEmpty ? nil : UInt32(userName) ?? UserDatabase.user(named: userName)
            group = groupName.isEmpty ? nil : UInt32(groupName) ?? UserDatabase.group(named: groupName)
            if user == nil, !userName.isEmpty { throw Fault(message: "there is no user \(userName)") }
            if group == nil, !groupName.isEmpty { throw Fault(message: "there is no group \(groupName)") }
        }
    }

    /// Takes the lock, and removes a socket that an earlier process left behind.
    init(claiming path: String) throws(Fault) {
        self.path = path
        do throws(SystemError) {
            lock = try FileLock(path + ".lock")
        } catch {
            throw error.wouldBlock ? .inUse(path) : .unusable(path + ".lock", reason: error.reason)
        }
        guard let facts = try? FileSystem.facts(path, follow: false) else { return }
        guard facts.kind == .socket else { throw .notASocket(path) }
        guard Self.isLeftOver(path) else { throw .inUse(path) }
        do throws(SystemError) {
            try FileSystem.remove(path)
        } catch {
            throw .unusable(path, reason: error.reason)
        }
    }

    /// The holder of the lock of the state directory calls this, so the process that made the socket is gone.
    static func removeControlSocket(_ path: String) throws(StartFailure) {
        guard let facts = try? FileSystem.facts(path, follow: false) else { return }
        guard facts.kind == .socket else {
            throw StartFailure(
                message: "\(path) is not a socket, and the control socket belongs there; move it away",
                status: .configuration
            )
        }
        do throws(SystemError) {
            try FileSystem.remove(path)
        } catch {
            throw StartFailure(message: "\(error)", status: error.isPermission ? .noPermission : .temporary)
        }
    }

    private static func isLeftOver(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try Socket.connect(to: .unix(path: path))
            return false
        } catch {
            return error.isRefused || error.isNotFound
        }
    }

    /// Sets the owner first: with the mode first the wrong group could connect for a moment.
    func give(to owner: Owner?, mode: UInt32) throws(Fault) {
        do throws(SystemError) {
            if let owner { try FileSystem.give(path, user: owner.user, group: owner.group) }
        } catch {
            throw .notGiven(path, reason: error.reason)
        }
        do throws(SystemError) {
            try FileSystem.setMode(mode, of: path)
        } catch {
            throw .unusable(path, reason: error.reason)
        }
    }

    /// The lock file stays: another process may already wait for its lock.
    func remove() {
        try? FileSystem.remove(path)
    }
}
