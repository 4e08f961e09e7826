#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The one place of this target that touches the file system.
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
        /// By its own mode, whatever the directories above it allow. Whoever reads another's file by a group of theirs was
        /// meant to.
        package let isExposed: Bool
    }

    package static func read(_ path: String, limit: Int = JSON5Text.maximumBytes) throws(Fault) -> [UInt8] {
        try contents(path, limit: limit).bytes
    }

    /// The whole of a regular file. Opened without blocking, so that a FIFO is refused and not waited for.
    package static func contents(_ path: String, limit: Int = JSON5Text.maximumBytes) throws(Fault) -> Contents {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw errno == ENOENT ? .missing(path: path) : .unreadable(path: path, reason: reason())
        }
        defer { close(descriptor) }
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0 else { throw .unreadable(path: path, reason: reason()) }
        guard facts.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { raw in
                unsafe posixRead(descriptor, raw.baseAddress, raw.count)
            }
            if count == 0 {
                let mode = UInt32(facts.st_mode) & 0o7777
                let others: UInt32 = facts.st_uid == geteuid() ? 0o077 : 0o007
                return Contents(bytes: bytes, mode: mode, isExposed: mode & others != 0)
            }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw .unreadable(path: path, reason: reason())
            }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw .tooLarge(path: path, limit: limit) }
        }
    }

    private static func posixRead(_ descriptor: Int32, _ base: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        unsafe Glibc.read(descriptor, base, count)
        #else
        unsafe Darwin.read(descriptor, base, count)
        #endif
    }

    private static func reason() -> String {
        guard let text = unsafe strerror(errno) else { return "error \(errno)" }
        return unsafe String(cString: text)
    }
}
