package import Basics
import POSIX

/// Finds the user at the other end of a connection, once after accept. Not Sendable: owned by the listener's loop.
///
/// A loopback caller's uid is that of the socket whose source is our remote address and whose destination is our local
/// one, found by exact 4-tuple. The uid counts only while that socket belongs to a process and is connected, perhaps with
/// its sending side shut: after the caller has closed it, the kernel shows uid 0 and no inode. Our own end is checked
/// afterwards: as long as it is connected, nobody else can own the caller's address.
package final class PeerLookup {
    /// The kernel's numbers of the states in which a process may read from its socket.
    private static let established: UInt8 = 1
    private static let finWait: ClosedRange<UInt8> = 4...5

    private let diagnostics: Int32?

    package init() {
        diagnostics = PeerSockets.openDiagnostics()
    }

    deinit {
        if let diagnostics { PeerSockets.close(diagnostics) }
    }

    /// The uid this process runs as: the owner.
    package static var ownerUID: UInt32 { CurrentProcess.effectiveUser }

    package func unixPeer(_ fd: Int32, listener: ListenerKind) -> Peer {
        Peer(listener: listener, origin: .unix(uid: PeerSockets.unixPeer(fd)))
    }

    /// Nil if the connection is already gone.
    package func tcpPeer(_ fd: Int32) -> Peer? {
        guard let ends = PeerSockets.ends(fd) else { return nil }
        let isLoopback = ends.remote.ip.isLoopback && ends.local.ip.isLoopback
        let uid = isLoopback ? callerUID(fd, ends) : nil
        return Peer(listener: .tcp, local: ends.local.ip, remote: ends.remote, uid: uid)
    }

    private func callerUID(_ fd: Int32, _ ends: PeerSockets.Ends) -> UInt32? {
        guard case .success(let owner) = owner(ends) else { return nil }
        guard Self.counts(owner), PeerSockets.isConnected(fd) else { return nil }
        return owner.uid
    }

    static func counts(_ owner: PeerSockets.Owner) -> Bool {
        (owner.state == established || finWait.contains(owner.state)) && owner.inode != 0
    }

    /// Looks in /proc only on systems that filter netlink, not after "not found" from netlink.
    func owner(_ ends: PeerSockets.Ends) -> Result<PeerSockets.Owner, SystemError> {
        if let diagnostics {
            let found = PeerSockets.owner(diagnostics: diagnostics, source: ends.remote, destination: ends.local)
            switch found {
            case .success: return found
            case .failure(let failure) where failure.isNotFound: return found
            case .failure: break
            }
        }
        return PeerSockets.ownerByTable(source: ends.remote, destination: ends.local)
    }
}
