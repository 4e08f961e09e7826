package import Basics
import CSystem

/// Asks the kernel which user holds the far end of a socket.
package enum PeerSockets {
    package struct Owner: Equatable, Sendable {
        package let uid: UInt32
        package let inode: UInt64
        /// The kernel's number of the TCP state; 1 is ESTABLISHED.
        package let state: UInt8

        package init(uid: UInt32, inode: UInt64, state: UInt8) {
            self.uid = uid
            self.inode = inode
            self.state = state
        }
    }

    package struct Ends: Equatable, Sendable {
        package let local: PeerAddress
        package let remote: PeerAddress
    }

    /// The user at the other end of a Unix socket.
    package static func unixPeer(_ fd: Int32) -> UInt32? {
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        var pid: Int32 = 0
        return unsafe cs_peer_credentials(fd, &uid, &gid, &pid) == 0 ? uid : nil
    }

    /// Whether a process listens on a Unix socket that was bound to this path, also after its file was deleted. False
    /// where the system has no list of its sockets.
    package static func listens(on path: String) -> Bool {
        guard let list = try? FileSystem.read("/proc/net/unix", limit: longestList) else { return false }
        return String(decoding: list.bytes, as: UTF8.self).split(separator: "\n").contains { line in
            line.hasSuffix(" \(path)") && line.contains(listening)
        }
    }

    /// Room for some 10,000 sockets.
    private static let longestList = 1 << 20
    /// The flag `__SO_ACCEPTCON` in the kernel's list.
    private static let listening = " 00010000 "

    package static func ends(_ fd: Int32) -> Ends? {
        var local = [UInt8](repeating: 0, count: 16)
        var remote = local
        var localPort: UInt16 = 0
        var remotePort: UInt16 = 0
        guard unsafe cs_socket_ends(fd, &local, &localPort, &remote, &remotePort) == 0,
            let localIP = NetworkAddress(bytes: local), let remoteIP = NetworkAddress(bytes: remote)
        else { return nil }
        return Ends(
            local: PeerAddress(ip: localIP, port: localPort),
            remote: PeerAddress(ip: remoteIP, port: remotePort)
        )
    }

    /// Whether the socket's own side is open: ESTABLISHED, or CLOSE_WAIT after the peer has shut its sending side.
    package static func isConnected(_ fd: Int32) -> Bool { cs_is_connected(fd) == 1 }

    /// A netlink socket for `owner`; nil if the system has none. Close it with `close`.
    package static func openDiagnostics() -> Int32? {
        let fd = cs_diag_open()
        return fd >= 0 ? fd : nil
    }

    package static func close(_ fd: Int32) { cs_close(fd) }

    /// The owner of the socket whose source is `source`, asked over netlink; `isNotFound` if there is none.
    package static func owner(
        diagnostics: Int32,
        source: PeerAddress,
        destination: PeerAddress
    ) -> Result<Owner, SystemError> {
        var found = cs_socket_owner()
        let result = unsafe cs_diag_owner(
            diagnostics,
            source.ip.mappedBytes,
            source.port,
            destination.ip.mappedBytes,
            destination.port,
            &found
        )
        return owner(found, result)
    }

    /// The same answer from the table in /proc, for systems that filter netlink.
    package static func ownerByTable(source: PeerAddress, destination: PeerAddress) -> Result<Owner, SystemError> {
        var found = cs_socket_owner()
        let result = unsafe cs_proc_owner(
            source.ip.mappedBytes,
            source.port,
            destination.ip.mappedBytes,
            destination.port,
            &found
        )
        return owner(found, result)
    }

    private static func owner(_ found: cs_socket_owner, _ result: Int32) -> Result<Owner, SystemError> {
        guard result == 0 else { return .failure(SystemError(number: -result, attempt: "find the owner of a socket")) }
        return .success(Owner(uid: found.uid, inode: found.inode, state: found.state))
    }
}
