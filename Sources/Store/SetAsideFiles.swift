import Basics

/// Databases that could not be used, each in a directory of its own. One without a `resolved` file keeps the outbox
/// closed: the directory itself is the mark, so no crash between the steps can lose it.
struct SetAsideFiles {
    struct Case: Sendable, Equatable {
        var path: String
        var reason: String
    }

    static let prefix = "set-aside-"
    static let databaseName = "ladle.db"

    let directory: String

    /// Moves the database with its log out of the way. Both are linked to their new place before either is removed: a
    /// log without its database, or the reverse, would be of no use.
    func setAside(reason: String, at time: Timestamp) throws(StoreError) -> String {
        let name = time.rfc3339.filter { $0.isLetter || $0.isNumber }
        let target = "\(directory)/\(Self.prefix)\(name)"
        do throws(SystemFiles.Failure) {
            if !SystemFiles.exists(target) { try SystemFiles.makeDirectory(target) }
            try SystemFiles.write(reason, to: target + "/reason")
            let files = [Self.databaseName, Self.databaseName + "-wal"]
            for file in files where SystemFiles.exists("\(directory)/\(file)") {
                try SystemFiles.link("\(directory)/\(file)", to: "\(target)/\(file)")
            }
            KillPoint.reach("set-aside")
            try SystemFiles.synchronise(directory: target)
            try SystemFiles.synchronise(directory: directory)
            for file in files + [Self.databaseName + "-shm"] {
                try SystemFiles.remove("\(directory)/\(file)")
            }
            try SystemFiles.synchronise(directory: directory)
        } catch {
            throw Self.storeError(error)
        }
        return target
    }

    /// The oldest case nobody has dealt with.
    func unresolved() -> Case? {
        let names = SystemFiles.names(in: directory).filter { $0.hasPrefix(Self.prefix) }
        for name in names.sorted() {
            let path = "\(directory)/\(name)"
            guard !SystemFiles.exists(path + "/resolved") else { continue }
            return Case(path: path, reason: SystemFiles.read(path + "/reason") ?? "the database could not be used")
        }
        return nil
    }

    func resolve(_ path: String) throws(StoreError) {
        do throws(SystemFiles.Failure) {
            try SystemFiles.write("", to: path + "/resolved")
            try SystemFiles.synchronise(directory: path)
        } catch {
            throw Self.storeError(error)
        }
    }

    private static func storeError(_ failure: SystemFiles.Failure) -> StoreError {
        failure.isFull ? .storageFull : .unavailable("\(failure.call) \(failure.path): \(failure.reason)")
    }
}
