import POSIX

/// Files with a secret, read only if nobody else can read or write them, and created with mode 0600.
package enum SecretFile {
    /// Tokens and passwords are short; PEM keys take a few kilobytes.
    private static let longest = 64 << 10

    package enum Fault: Error, Equatable, Sendable {
        case unreadable(path: String, reason: String)
        case forbidden(path: String, reader: UInt32)
        case notAFile(path: String)
        case tooLong(path: String)
        case foreignOwner(path: String, uid: UInt32)
        case exposed(path: String, mode: UInt32)
        case unwritable(path: String, reason: String)
        case exists(path: String)

        package var description: String {
            switch self {
            case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
            case .forbidden(let path, let reader): "\(path) may not be read by uid \(reader)"
            case .notAFile(let path): "\(path) is not a regular file"
            case .tooLong(let path): "\(path) is too long for a secret"
            case .foreignOwner(let path, let uid): "\(path) belongs to uid \(uid)"
            case .exposed(let path, let mode): "\(path) can be read by others (mode \(String(mode, radix: 8)))"
            case .unwritable(let path, let reason): "\(path) cannot be written: \(reason)"
            case .exists(let path): "\(path) exists already"
            }
        }

        /// The command that fixes the fault.
        package var hint: String? {
            switch self {
            case .exposed(let path, _): "chmod 600 \(path)"
            // Run by root, perhaps outside the container that has this user.
            case .forbidden(let path, let reader): "chown \(reader) \(path)"
            case .foreignOwner(let path, _): "chown \"$(id -u)\" \(path)"
            default: nil
            }
        }
    }

    /// The contents, without blanks and line ends at the beginning and the end.
    package static func read(_ path: String) throws(Fault) -> Secret {
        let contents: FileSystem.Contents
        do throws(SystemError) {
            contents = try FileSystem.read(path, limit: longest)
        } catch {
            throw error.isPermission
                ? .forbidden(path: path, reader: CurrentProcess.effectiveUser)
                : .unreadable(path: path, reason: error.reason)
        }
        if let fault = fault(of: contents.facts, path: path, reader: CurrentProcess.effectiveUser) { throw fault }
        guard contents.isWhole else { throw .tooLong(path: path) }
        let bytes = contents.bytes
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
        let end = bytes.lastIndex { !isBlank($0) } ?? start
        return Secret(start == bytes.endIndex ? "" : String(decoding: bytes[start...end], as: UTF8.self))
    }

    /// Makes a new file with mode 0600. An existing file is never replaced.
    package static func create(_ path: String, _ secret: Secret) throws(Fault) {
        do throws(SystemError) {
            try PrivateFile(path).createDirectly(Array(secret.reveal().utf8) + [0x0A])
        } catch {
            throw error.alreadyExists ? .exists(path: path) : .unwritable(path: path, reason: error.reason)
        }
    }

    /// Root's files are accepted too, and with group root they may be readable by the group: systemd's credentials are,
    /// because their access list shows in the group bits.
    static func fault(of facts: FileFacts, path: String, reader: UInt32) -> Fault? {
        guard facts.kind == .regular else { return .notAFile(path: path) }
        guard facts.owner == reader || facts.owner == 0 else { return .foreignOwner(path: path, uid: facts.owner) }
        let tolerated: UInt32 = facts.owner == 0 && facts.group == 0 ? 0o040 : 0
        guard facts.mode & 0o077 & ~tolerated == 0 else { return .exposed(path: path, mode: facts.mode) }
        guard facts.size <= UInt64(longest) else { return .tooLong(path: path) }
        return nil
    }
}
