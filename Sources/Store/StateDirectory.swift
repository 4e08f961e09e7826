import Synchronization

package enum StateDirectoryError: Error, Sendable, Equatable {
    case cannotCreate(path: String, reason: String, isForbidden: Bool)
    case notADirectory(path: String)
    case foreignOwner(path: String, uid: UInt32)
    case openToOthers(path: String, mode: UInt32)
    /// Another process has it; its pid when it could be read.
    case inUse(path: String, pid: Int?)
    case cannotLock(path: String, reason: String, isForbidden: Bool)

    /// Nobody but a person can change it; of a disk that is full or not writable yet the next start may see nothing.
    package var isPermission: Bool {
        switch self {
        case .foreignOwner, .openToOthers, .notADirectory: true
        case .cannotCreate(_, _, let isForbidden), .cannotLock(_, _, let isForbidden): isForbidden
        case .inUse: false
        }
    }
}

extension StateDirectoryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .cannotCreate(let path, let reason, _): "cannot create the state directory \(path): \(reason)"
        case .notADirectory(let path): "\(path) is not a directory"
        case .foreignOwner(let path, let uid): "\(path) belongs to uid \(uid), not to the user running this program"
        case .openToOthers(let path, let mode):
            "\(path) is open to other users (mode \(String(mode, radix: 8))); run: chmod 700 \(path)"
        case .inUse(let path, let pid):
            "\(path) is in use by another ladle" + (pid.map { " (process \($0))" } ?? "")
        case .cannotLock(let path, let reason, _): "cannot lock \(path): \(reason)"
        }
    }
}

/// The directory that holds everything durable: private, and of one process at a time.
package final class StateDirectory: Sendable {
    package let path: String
    /// The descriptor that holds the lock; nil once released.
    private let lock: Mutex<Int32?>

    package var databasePath: String { path + "/ladle.db" }

    /// Creates it where it is missing, checks who may look in, and takes the lock.
    package init(path: String) throws(StateDirectoryError) {
        try Self.create(path)
        try Self.check(path)
        self.path = path
        self.lock = Mutex(try Self.takeLock(path))
    }

    deinit {
        // The lock goes with the descriptor; the file stays, since removing it would race with the next owner.
        release()
    }

    /// Lets another process have the directory; for the end of this one.
    package func release() {
        lock.withLock { descriptor in
            if let descriptor { SystemFiles.release(descriptor) }
            descriptor = nil
        }
    }

    private static func create(_ path: String) throws(StateDirectoryError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            partial += component
            do throws(SystemFiles.Failure) {
                // A parent that may not be written is fine as long as it is there.
                if !SystemFiles.exists(partial) { try SystemFiles.makeDirectory(partial) }
            } catch {
                guard error.isPresent else {
                    throw .cannotCreate(path: partial, reason: error.reason, isForbidden: error.isForbidden)
                }
            }
            partial += "/"
        }
    }

    private static func check(_ path: String) throws(StateDirectoryError) {
        let status: SystemFiles.Status
        do throws(SystemFiles.Failure) {
            status = try SystemFiles.status(path)
        } catch {
            throw .cannotCreate(path: path, reason: error.reason, isForbidden: error.isForbidden)
        }
        guard status.isDirectory else { throw .notADirectory(path: path) }
        guard status.owner == SystemFiles.effectiveUser else { throw .foreignOwner(path: path, uid: status.owner) }
        guard status.mode & 0o077 == 0 else { throw .openToOthers(path: path, mode: status.mode) }
    }

    private static func takeLock(_ path: String) throws(StateDirectoryError) -> Int32 {
        let file = path + "/ladle.lock"
        var opened: Int32?
        do throws(SystemFiles.Failure) {
            let descriptor = try SystemFiles.openLocked(file)
            opened = descriptor
            try SystemFiles.lock(descriptor, path: file)
            try SystemFiles.write("\(SystemFiles.processID)\n", to: descriptor, path: file)
            return descriptor
        } catch {
            guard let opened else {
                throw .cannotLock(path: file, reason: error.reason, isForbidden: error.isForbidden)
            }
            let owner = SystemFiles.read(opened).flatMap { Int($0.prefix { $0.isNumber }) }
            SystemFiles.release(opened)
            if error.isLockedByOther { throw .inUse(path: path, pid: owner) }
            throw .cannotLock(path: file, reason: error.reason, isForbidden: error.isForbidden)
        }
    }
}
