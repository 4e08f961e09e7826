package import Basics
package import EventLoops

/// Facts about the connection that a request came on; most are fixed when the connection starts.
package final class ConnectionInfo {
    // The members in this order leave no padding; the server keeps one such object for each connection.
    package let remote: SocketAddress
    package let listener: ListenerKind
    package let isEncrypted: Bool
    /// The number of open event streams on an HTTP/2 connection.
    package var openStreams: UInt16 = 0
    /// The number of pages that are being read and written for this connection.
    package var openPages: UInt16 = 0
    /// The user at the other end, by peer credentials or the kernel's socket table; nil if the user cannot be
    /// determined.
    package let user: UInt32?
    package let local: SocketAddress
    /// Data that the responder keeps with this connection.
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
