import Basics
import POSIX
import TestSupport
import Testing

@testable import Access

struct PeerLookupTests {
    static let isRoot = PeerLookup.ownerUID == 0

    static func uid(_ peer: Peer?) -> UInt32? {
        if case .loopback(_, let uid)? = peer?.origin { uid } else { nil }
    }

    @Test(arguments: [NetworkAddress.loopback4, .loopback6])
    func `the uid behind a loopback connection is that of the calling socket`(address: NetworkAddress) throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listen(address)
        let client = try BlockingSocket.connect(address, port: listener.port)
        let server = try listener.accept()
        let peer = lookup.tcpPeer(server.fd)
        #expect(peer?.address?.ip == address)
        #expect(peer?.address?.port == client.port)
        #expect(Self.uid(peer) == PeerLookup.ownerUID)
    }

    @Test(arguments: [false, true])
    func `on a dual-stack listener an IPv4 caller is found, whichever socket he uses`(asIPv6: Bool) throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listenDualStack()
        let client = try BlockingSocket.connect(.loopback4, port: listener.port, asIPv6: asIPv6)
        let server = try listener.accept()
        let peer = lookup.tcpPeer(server.fd)
        #expect(peer?.address == PeerAddress(ip: .loopback4, port: client.port))
        #expect(Self.uid(peer) == PeerLookup.ownerUID)
    }

    @Test(arguments: [false, true])
    func `netlink and the table in proc agree`(asIPv6: Bool) throws {
        let listener = try BlockingSocket.listenDualStack()
        let client = try BlockingSocket.connect(.loopback4, port: listener.port, asIPv6: asIPv6)
        let server = try listener.accept()
        let ends = try #require(PeerSockets.ends(server.fd))
        let diagnostics = try #require(PeerSockets.openDiagnostics())
        defer { PeerSockets.close(diagnostics) }
        let byNetlink = PeerSockets.owner(diagnostics: diagnostics, source: ends.remote, destination: ends.local)
        let byTable = PeerSockets.ownerByTable(source: ends.remote, destination: ends.local)
        #expect(byNetlink == byTable)
        #expect(try byNetlink.get().state == 1)
        #expect(try byNetlink.get().inode != 0)
        // A port nobody uses: the listener that the kernel returns instead must not count.
        let free = PeerAddress(ip: .loopback4, port: client.port == 1 ? 2 : 1)
        for answer in [
            PeerSockets.owner(diagnostics: diagnostics, source: free, destination: ends.local),
            PeerSockets.owner(diagnostics: diagnostics, source: ends.local, destination: free),
            PeerSockets.ownerByTable(source: free, destination: ends.local),
        ] {
            #expect { try answer.get() } throws: { ($0 as? SystemError)?.isNotFound == true }
        }
    }

    @Test(.enabled(if: isRoot))
    func `another user's socket is told from ours`() throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listen(.loopback4)
        let client = try BlockingSocket.connect(.loopback4, port: listener.port, asUID: 12345)
        let server = try listener.accept()
        #expect(Self.uid(lookup.tcpPeer(server.fd)) == 12345)
        withExtendedLifetime(client) {}
    }

    /// After the close the kernel shows uid 0 for the remaining socket: the owner's uid, if the daemon is run by root.
    @Test(.enabled(if: isRoot), arguments: [NetworkAddress.loopback4, .loopback6])
    func `another user who connects, sends and closes is refused although the daemon runs as root`(
        address: NetworkAddress
    ) throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listen(address)
        let client = try BlockingSocket.connect(address, port: listener.port, asUID: 12345)
        try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        client.close()
        let server = try listener.accept()
        let peer = lookup.tcpPeer(server.fd)
        #expect(peer != nil)
        #expect(Self.uid(peer) == nil)
        #expect(try !server.receive().isEmpty)
        var gate = Authenticator(settings: .init(ownerUID: 0))
        #expect(try gate.identify(#require(peer), .get(), now: .start) == .caller(.nobody))
    }

    /// Some clients shut their sending side behind the request, and wait for the answer.
    @Test func `a caller who has shut its sending side is known as long as it reads`() throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listen(.loopback4)
        let client = try BlockingSocket.connect(.loopback4, port: listener.port)
        client.shutSending()
        let server = try listener.accept()
        #expect(Self.uid(lookup.tcpPeer(server.fd)) == PeerLookup.ownerUID)
        client.close()
        #expect(Self.uid(lookup.tcpPeer(server.fd)) == nil)
    }

    @Test(.enabled(if: isRoot))
    func `another user who has shut its sending side is still that user`() throws {
        let lookup = PeerLookup()
        let listener = try BlockingSocket.listen(.loopback4)
        let client = try BlockingSocket.connect(.loopback4, port: listener.port, asUID: 12345)
        client.shutSending()
        let server = try listener.accept()
        #expect(Self.uid(lookup.tcpPeer(server.fd)) == 12345)
        withExtendedLifetime(client) {}
    }

    @Test func `states in which nobody reads, and sockets without a process, do not count`() {
        for state in UInt8(0)...12 {
            let live = PeerSockets.Owner(uid: 0, inode: 5, state: state)
            #expect(PeerLookup.counts(live) == [1, 4, 5].contains(state))
            #expect(!PeerLookup.counts(PeerSockets.Owner(uid: 0, inode: 0, state: state)))
        }
    }

    @Test func `a unix socket's peer is known by its uid`() throws {
        let folder = try ScratchDirectory()
        let listener = try BlockingSocket.listen(unixPath: folder.file("s"))
        let client = try BlockingSocket.connect(unixPath: folder.file("s"))
        let server = try listener.accept()
        let peer = PeerLookup().unixPeer(server.fd, listener: .unix)
        #expect(peer == .unix(PeerLookup.ownerUID))
        withExtendedLifetime(client) {}
    }

    @Test func `a descriptor that is no socket is nobody`() {
        #expect(PeerLookup().unixPeer(-1, listener: .unix) == .unix(nil))
        #expect(PeerLookup().tcpPeer(-1) == nil)
    }

    @Test func `limits go by uid on loopback and by network elsewhere`() {
        #expect(Peer.loopback(7).limitKey == .uid(7))
        #expect(Peer.loopback(nil).limitKey == .address(.loopback4))
        #expect(Peer.remote("192.0.2.1").limitKey == Peer.remote("192.0.2.1", port: 2).limitKey)
        #expect(Peer.remote("2001:db8::1").limitKey == Peer.remote("2001:db8::ffff:1").limitKey)
        #expect(Peer.remote("2001:db8::1").limitKey != Peer.remote("2001:db8:0:1::1").limitKey)
    }
}
