package import EventLoops

/// What is known of the connection a request came on, fixed at its start.
package final class ConnectionInfo {
    /// The door it came through; who may pass is decided elsewhere, by this.
    package enum Door: Sendable, Equatable {
        case tcp
        /// The control socket in the state directory.
        case control
        /// A Unix socket given by configuration.
        case unix
        /// A Unix socket meant for `tailscale serve` alone.
        case serve
    }

    // In an order without gaps: one for each connection.
    package let remote: SocketAddress
    package let door: Door
    package let isEncrypted: Bool
    /// Answers without end under way on it, where it can have many.
    package var openStreams: UInt16 = 0
    /// Pages being read and written out for it.
    package var openPages: UInt16 = 0
    /// The user at the other end, by peer credentials or by the kernel's socket table; nil where nobody can tell.
    package let user: UInt32?
    package let local: SocketAddress
    /// The responder's own notes about this connection.
    package var memo: AnyObject?

    package init(
        door: Door,
        remote: SocketAddress,
        local: SocketAddress,
        isEncrypted: Bool = false,
        user: UInt32? = nil
    ) {
        self.door = door
        self.remote = remote
        self.local = local
        self.isEncrypted = isEncrypted
        self.user = user
    }
}
