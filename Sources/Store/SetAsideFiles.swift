import Basics
import POSIX

/// Unusable databases, each in a directory of its own. One without a `resolved` file keeps the outbox closed: the
/// directory itself is the mark, so a crash between the steps cannot lose it.
struct SetAsideFiles {
    struct Case: Sendable, Equatable {
        var path: String
        var reason: String
    }

    static let prefix = "set-aside-"
    static let databaseName = "ladle.db"

    let directory: String

    /// Moves the database and its log away. Both are linked at their new place before either is removed: neither is of
    /// use without the other.
    func setAside(reason: String, at time: Timestamp) throws(StoreError) -> String {
        let name = time.rfc3339.filter { $0.isLetter || $0.isNumber }
        let target = "\(directory)/\(Self.prefix)\(name)"
        do throws(SystemError) {
            if !FileSystem.exists(target) { try FileSystem.makeDirectory(target) }
            try PrivateFile(target + "/reason").replace(with: Array(reason.utf8))
            let files = [Self.databaseName, Self.databaseName + "-wal", Witness.fileName]
            for file in files where FileSystem.exists("\(directory)/\(file)") {
                try FileSystem.link("\(directory)/\(file)", to: "\(target)/\(file)")
            }
            KillPoint.reach("set-aside")
            try FileSystem.synchronise(directory: target)
            try FileSystem.synchronise(directory: directory)
            for file in files + [Self.databaseName + "-shm"] {
                try FileSystem.remove("\(directory)/\(file)")
            }
            try FileSystem.synchronise(directory: directory)
        } catch {
            throw Self.storeError(error)
        }
        return target
    }

    /// The oldest case that nobody has resolved.
    func unresolved() -> Case? {
        let names = FileSystem.names(in: directory).filter { $0.hasPrefix(Self.prefix) }
        for name in names.sorted() {
            let path = "\(directory)/\(name)"
            guard !FileSystem.exists(path + "/resolved") else { continue }
            let reason = (try? FileSystem.read(path + "/reason", limit: 4096)).map {
                String(decoding: $0.bytes, as: UTF8.self)
            }
            return Case(path: path, reason: reason ?? "the database could not be used")
        }
        return nil
    }

    func resolve(_ path: String) throws(StoreError) {
        do throws(SystemError) {
            try PrivateFile(path + "/resolved").replace(with: [])
            try FileSystem.synchronise(directory: path)
        } catch {
            throw Self.storeError(error)
        }
    }

    private static func storeError(_ failure: SystemError) -> StoreError {
        failure.isFull ? .storageFull : .unavailable("\(failure)")
    }
}
