import Basics
import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Every system call of this target. Results are values or `SystemFailure`; no C type leaves this file.
enum AccessSystem {
    struct Failure: Error, Equatable {
        let code: Int32

        /// From a result that is minus errno.
        init(_ result: some BinaryInteger) { code = Int32(clamping: -Int64(result)) }

        static let notFound = Failure(-ENOENT)
        static let exists = Failure(-EEXIST)

        /// The system's own word.
        var description: String {
            unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        }
    }

    struct FileFacts: Equatable {
        let uid: UInt32
        let gid: UInt32
        let mode: UInt32
        let isRegular: Bool
        let size: UInt64
    }

    struct SocketOwner: Equatable {
        let uid: UInt32
        let inode: UInt64
        let state: UInt8
    }

    struct SocketEnds: Equatable {
        let local: PeerAddress
        let remote: PeerAddress
    }

    static var effectiveUID: UInt32 { cs_effective_uid() }

    // MARK: Sockets

    static func unixPeer(_ fd: Int32) -> UInt32? {
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        var pid: Int32 = 0
        return unsafe cs_peer_credentials(fd, &uid, &gid, &pid) == 0 ? uid : nil
    }

    static func ends(_ fd: Int32) -> SocketEnds? {
        var local = [UInt8](repeating: 0, count: 16)
        var remote = local
        var localPort: UInt16 = 0
        var remotePort: UInt16 = 0
        guard unsafe cs_socket_ends(fd, &local, &localPort, &remote, &remotePort) == 0,
            let localIP = NetworkAddress(bytes: local), let remoteIP = NetworkAddress(bytes: remote)
        else { return nil }
        return SocketEnds(
            local: PeerAddress(ip: localIP, port: localPort),
            remote: PeerAddress(ip: remoteIP, port: remotePort)
        )
    }

    static func isEstablished(_ fd: Int32) -> Bool { cs_is_established(fd) == 1 }

    static func openDiagnostics() -> Int32? {
        let fd = cs_diag_open()
        return fd >= 0 ? fd : nil
    }

    /// The socket whose source is `source`; nil when there is none, or the question cannot be asked this way.
    static func owner(
        diagnostics: Int32,
        source: PeerAddress,
        destination: PeerAddress
    ) -> Result<SocketOwner, Failure> {
        var found = cs_socket_owner()
        let result = unsafe cs_diag_owner(
            diagnostics,
            source.ip.mappedBytes,
            source.port,
            destination.ip.mappedBytes,
            destination.port,
            &found
        )
        guard result == 0 else { return .failure(Failure(result)) }
        return .success(SocketOwner(uid: found.uid, inode: found.inode, state: found.state))
    }

    static func ownerByTable(source: PeerAddress, destination: PeerAddress) -> Result<SocketOwner, Failure> {
        var found = cs_socket_owner()
        let result = unsafe cs_proc_owner(
            source.ip.mappedBytes,
            source.port,
            destination.ip.mappedBytes,
            destination.port,
            &found
        )
        guard result == 0 else { return .failure(Failure(result)) }
        return .success(SocketOwner(uid: found.uid, inode: found.inode, state: found.state))
    }

    static func close(_ fd: Int32) { cs_close(fd) }

    static func socketFileOwner(_ path: String) -> UInt32? {
        var uid: UInt32 = 0
        return unsafe cs_socket_file_owner(path, &uid) == 0 ? uid : nil
    }

    // MARK: Files

    static func openSecret(_ path: String) throws(Failure) -> (fd: Int32, facts: FileFacts) {
        var raw = cs_file_facts()
        let fd = unsafe cs_open_secret(path, &raw)
        guard fd >= 0 else { throw Failure(fd) }
        let facts = FileFacts(uid: raw.uid, gid: raw.gid, mode: raw.mode, isRegular: raw.regular != 0, size: raw.size)
        return (fd, facts)
    }

    static func createSecret(_ path: String) throws(Failure) -> Int32 {
        let fd = unsafe cs_create_secret(path)
        guard fd >= 0 else { throw Failure(fd) }
        return fd
    }

    static func openAppend(_ path: String) throws(Failure) -> (fd: Int32, size: UInt64) {
        var size: UInt64 = 0
        let fd = unsafe cs_open_append(path, &size)
        guard fd >= 0 else { throw Failure(fd) }
        return (fd, size)
    }

    static func readAll(_ fd: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < limit {
            let count = unsafe cs_read_some(fd, &chunk, min(chunk.count, limit - bytes.count))
            guard count >= 0 else { throw Failure(count) }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<Int(count)])
        }
        return bytes
    }

    static func writeAll(_ fd: Int32, _ bytes: [UInt8]) throws(Failure) {
        let result = unsafe cs_write_all(fd, bytes, bytes.count)
        guard result == 0 else { throw Failure(result) }
    }

    static func sync(_ fd: Int32) throws(Failure) {
        let result = cs_sync(fd)
        guard result == 0 else { throw Failure(result) }
    }

    static func rename(_ from: String, _ to: String) throws(Failure) {
        let result = unsafe cs_rename(from, to)
        guard result == 0 else { throw Failure(result) }
    }
}
