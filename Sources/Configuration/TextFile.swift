import POSIX

/// Reads configuration files, with problems in the words of the user.
package enum TextFile {
    package enum Fault: Error, Equatable, Sendable {
        case missing(path: String)
        case unreadable(path: String, reason: String)
        case notAFile(path: String)
        case tooLarge(path: String, limit: Int)

        package var message: String {
            switch self {
            case .missing(let path): "\(path) does not exist"
            case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
            case .notAFile(let path): "\(path) is not a regular file"
            case .tooLarge(let path, let limit): "\(path) is larger than \(limit) bytes"
            }
        }
    }

    package struct Contents {
        package let bytes: [UInt8]
        package let mode: UInt32
        /// Whether other users can read the file, judged by its own mode and not by the directories above it. If this
        /// process reads another user's file through a group, that access is intended.
        package let isExposed: Bool
    }

    package static func read(_ path: String, limit: Int = JSON5Text.maximumBytes) throws(Fault) -> [UInt8] {
        try contents(path, limit: limit).bytes
    }

    /// The whole of a regular file.
    package static func contents(_ path: String, limit: Int = JSON5Text.maximumBytes) throws(Fault) -> Contents {
        let found: FileSystem.Contents
        do throws(SystemError) {
            found = try FileSystem.read(path, limit: limit)
        } catch {
            throw error.isNotFound ? .missing(path: path) : .unreadable(path: path, reason: error.reason)
        }
        guard found.facts.kind == .regular else { throw .notAFile(path: path) }
        guard found.isWhole else { throw .tooLarge(path: path, limit: limit) }
        let others: UInt32 = found.facts.owner == CurrentProcess.effectiveUser ? 0o077 : 0o007
        return Contents(bytes: found.bytes, mode: found.facts.mode, isExposed: found.facts.mode & others != 0)
    }
}
