import POSIX

package enum StateDirectoryError: Error, Sendable, Equatable {
    case cannotCreate(path: String, reason: String, isForbidden: Bool)
    case notADirectory(path: String)
    case foreignOwner(path: String, uid: UInt32)
    case openToOthers(path: String, mode: UInt32)
    /// Another process uses the directory; its pid if it could be read.
    case inUse(path: String, pid: Int?)
    case cannotLock(path: String, reason: String, isForbidden: Bool)
    /// A directory, link or device has the name of the lock file.
    case lockNotAFile(path: String)
    /// A restore was cut off, and cannot be finished now.
    case unfinishedRestore(path: String, reason: String)
    /// A restore was cut off, and its plan is damaged.
    case unreadablePlan(path: String)

    /// Whether only a person can fix this. A full or unwritable disk may work again at the next start.
    package var isPermission: Bool {
        switch self {
        case .foreignOwner, .openToOthers, .notADirectory, .lockNotAFile, .unreadablePlan: true
        case .cannotCreate(_, _, let isForbidden), .cannotLock(_, _, let isForbidden): isForbidden
        case .inUse, .unfinishedRestore: false
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
        case .lockNotAFile(let path):
            "\(path) is not a file, and the lock needs its place; run: mv -i \(path) \(path).old"
        case .unfinishedRestore(let path, let reason):
            "a restore of \(path) was cut off and cannot be finished: \(reason)"
        case .unreadablePlan(let path):
            "a restore was cut off and \(path) is damaged; the earlier state is in before-restore-… beside it. To give the "
                + "restore up: rm \(path)"
        }
    }
}

/// The directory for all durable state: private, and used by one process at a time.
package final class StateDirectory: Sendable {
    package let path: String
    private let lock: FileLock

    package var databasePath: String { path + "/ladle.db" }

    /// Creates the directory if it is missing, checks its permissions, takes the lock, and finishes a restore that was
    /// cut off.
    package init(path: String) throws(StateDirectoryError) {
        try Self.create(path)
        try Self.check(path)
        self.path = path
        lock = try Self.takeLock(path)
        do throws(StateDirectoryError) {
            try RestorePlan.finish(in: path)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Checks the directory as `init` does, creates and changes nothing, and holds the lock during the body. A missing
    /// lock file is held by nobody.
    package static func withLook<Value>(
        at path: String,
        _ body: () -> Value
    ) throws(StateDirectoryError) -> Value {
        try check(path)
        let lock: FileLock? = try locking(path) { file throws(SystemError) -> FileLock? in
            do throws(SystemError) {
                return try FileLock(existing: file)
            } catch {
                guard error.isNotFound else { throw error }
                return nil
            }
        }
        defer { lock?.release() }
        return body()
    }

    /// Removes other users' access to the files in the directory.
    /// - Returns: the names of the files that were accessible.
    package func closeFiles() -> [String] {
        FileSystem.names(in: path).sorted().filter { name in
            let file = "\(path)/\(name)"
            guard let facts = try? FileSystem.facts(file, follow: false), facts.kind == .regular,
                facts.mode & 0o077 != 0
            else { return false }
            return (try? FileSystem.setMode(facts.mode & 0o700, of: file)) != nil
        }
    }

    /// Releases the lock, at the end of this process.
    package func release() { lock.release() }

    private static func create(_ path: String) throws(StateDirectoryError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            partial += component
            do throws(SystemError) {
                // A read-only parent is fine as long as it exists.
                if !FileSystem.exists(partial) { try FileSystem.makeDirectory(partial) }
            } catch {
                guard error.alreadyExists else {
                    throw .cannotCreate(path: partial, reason: error.reason, isForbidden: error.isPermission)
                }
            }
            partial += "/"
        }
    }

    private static func check(_ path: String) throws(StateDirectoryError) {
        let facts: FileFacts
        do throws(SystemError) {
            facts = try FileSystem.facts(path)
        } catch {
            throw .cannotCreate(path: path, reason: error.reason, isForbidden: error.isPermission)
        }
        guard facts.kind == .directory else { throw .notADirectory(path: path) }
        guard facts.owner == CurrentProcess.effectiveUser else { throw .foreignOwner(path: path, uid: facts.owner) }
        guard facts.mode & 0o077 == 0 else { throw .openToOthers(path: path, mode: facts.mode & 0o777) }
    }

    private static func takeLock(_ path: String) throws(StateDirectoryError) -> FileLock {
        try locking(path) { file throws(SystemError) in
            let lock = try FileLock(file)
            try lock.write("\(CurrentProcess.id)\n")
            return lock
        }
    }

    private static func locking<Lock>(
        _ path: String,
        _ lock: (String) throws(SystemError) -> Lock
    ) throws(StateDirectoryError) -> Lock {
        let file = path + "/ladle.lock"
        do throws(SystemError) {
            return try lock(file)
        } catch {
            guard error.wouldBlock else {
                if let kind = try? FileSystem.facts(file, follow: false).kind, kind != .regular {
                    throw .lockNotAFile(path: file)
                }
                throw .cannotLock(path: file, reason: error.reason, isForbidden: error.isPermission)
            }
            let text = (try? FileSystem.read(file, limit: 64)).map { String(decoding: $0.bytes, as: UTF8.self) }
            throw .inUse(path: path, pid: text.flatMap { Int($0.prefix { $0.isNumber }) })
        }
    }
}
