package import Basics
package import EventLoops

/// What is known of the connection a request came on, fixed at its start.
package final class ConnectionInfo {
    // In an order without gaps: one for each connection.
    package let remote: SocketAddress
    package let listener: ListenerKind
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
        listener: ListenerKind,
        remote: SocketAddress,
        local: SocketAddress,
        isEncrypted: Bool = false,
        user: UInt32? = nil
    ) {
        self.listener = listener
        self.remote = remote
        self.local = local
        self.isEncrypted = isEncrypted
        self.user = user
    }
}
