import POSIX

/// The socket of this host's tailscaled.
package struct Tailscaled: Sendable, Equatable {
    package let path: String
    /// The owner of the socket. Connections of `tailscale serve` come from the same uid.
    package let uid: UInt32

    package init(path: String, uid: UInt32) {
        self.path = path
        self.uid = uid
    }

    /// The usual places: Linux, then the open-source daemon on macOS. Both directories are root's.
    package static let usualPaths = ["/var/run/tailscale/tailscaled.sock", "/var/run/tailscaled.socket"]

    /// The first path that is a socket. Called again from time to time, because tailscaled may start after us.
    package static func find(_ paths: [String] = usualPaths) -> Tailscaled? {
        for path in paths {
            if let facts = try? FileSystem.facts(path), facts.kind == .socket {
                return Tailscaled(path: path, uid: facts.owner)
            }
        }
        return nil
    }
}
