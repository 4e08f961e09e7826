import POSIX

/// A file that takes room on the disk, to be given up for a write that must not wait: on a full disk a token that was revoked would
/// be valid again after a kill.
struct SpaceReserve {
    static let name = "ladle.reserve"
    /// Many times what a small write takes in the log and the database.
    private static let bytes = 512 << 10

    private let path: String
    private(set) var isThere: Bool

    init(directory: String) {
        path = "\(directory)/\(Self.name)"
        isThere = (try? FileSystem.facts(path, follow: false))?.size == UInt64(Self.bytes)
        // A start that was cut off left less.
        if !isThere { try? FileSystem.remove(path) }
    }

    /// Takes the room, if the disk has more than that.
    mutating func refill() {
        guard !isThere, let free = FileSystem.freeBytes(at: FileSystem.folder(of: path)), free > 2 * Self.bytes else {
            return
        }
        // Equal bytes take no room on a file system that compresses.
        guard let random = try? FileSystem.randomBytes(Self.bytes) else { return }
        isThere = (try? PrivateFile(path).createDirectly(random)) != nil
    }

    /// Gives the room up.
    /// - Returns: whether there was any.
    mutating func release() -> Bool {
        guard isThere, (try? FileSystem.remove(path)) != nil else { return false }
        isThere = false
        return true
    }
}
