package import Basics

/// The other end of a connection as the kernel describes it, asked once after accept.
package struct Peer: Sendable, Equatable {
    package enum Origin: Sendable, Equatable {
        /// The peer of a Unix socket; the uid is nil if the kernel does not report it.
        case unix(uid: UInt32?)
        /// Both ends are on loopback; the uid owns the calling socket, or is nil if unknown.
        case loopback(PeerAddress, uid: UInt32?)
        case remote(PeerAddress)
        /// A process of this host that used one of the host's other addresses, and not a peer of the tailnet.
        case thisHost(PeerAddress)
    }

    package let listener: ListenerKind
    package let origin: Origin

    package init(listener: ListenerKind, origin: Origin) {
        self.listener = listener
        self.origin = origin
    }

    package var address: PeerAddress? {
        switch origin {
        case .unix: nil
        case .loopback(let address, _), .remote(let address), .thisHost(let address): address
        }
    }

    /// The key of limits per peer: on loopback and unix sockets the uid, elsewhere the address (IPv6: its /64).
    package var limitKey: RateLimitKey {
        switch origin {
        case .unix(let uid?), .loopback(_, let uid?): .uid(uid)
        case .unix(nil): .address(.loopback4)
        case .loopback(let address, nil), .remote(let address), .thisHost(let address): .address(address.ip.network)
        }
    }

    package init(listener: ListenerKind, local: NetworkAddress, remote: PeerAddress, uid: UInt32?) {
        if remote.ip.isLoopback, local.isLoopback {
            self.init(listener: listener, origin: .loopback(remote, uid: uid))
        } else {
            self.init(listener: listener, origin: remote.ip == local ? .thisHost(remote) : .remote(remote))
        }
    }

    /// A description for the person who decides about an application.
    package var description: String {
        switch (address, limitKey) {
        case (let address?, .uid(let uid)): "\(address.ip.hostText), uid \(uid)"
        case (let address?, _): address.ip.hostText
        case (nil, .uid(let uid)): "this host, uid \(uid)"
        case (nil, _): "this host"
        }
    }
}
