#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Kind, owner, permissions and size of a file.
package struct FileFacts: Equatable, Sendable {
    package enum Kind: Sendable {
        case regular, directory, socket, other
    }

    package let kind: Kind
    package let owner: UInt32
    package let group: UInt32
    /// The permission bits.
    package let mode: UInt32
    package let size: UInt64
    /// `DEVICE:INODE`, the form in which systemd names the journal's stream.
    package let identity: String

    package init(
        kind: Kind = .regular,
        owner: UInt32,
        group: UInt32,
        mode: UInt32,
        size: UInt64,
        identity: String = ""
    ) {
        self.kind = kind
        self.owner = owner
        self.group = group
        self.mode = mode
        self.size = size
        self.identity = identity
    }

    /// Nil for a descriptor that is not open.
    init?(descriptor: Int32) {
        var raw = stat()
        guard unsafe fstat(descriptor, &raw) == 0 else { return nil }
        self.init(raw)
    }

    init(_ raw: stat) {
        switch raw.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFSOCK: kind = .socket
        default: kind = .other
        }
        owner = raw.st_uid
        group = raw.st_gid
        mode = UInt32(raw.st_mode) & 0o7777
        size = UInt64(max(raw.st_size, 0))
        identity = "\(raw.st_dev):\(raw.st_ino)"
    }
}
