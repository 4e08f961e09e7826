package import Basics
import CSystem
import Dispatch

/// The address that a socket is bound or connected to.
package enum SocketAddress: Sendable, Hashable {
    case ip(NetworkAddress, port: UInt16)
    /// The path is empty for the unnamed end of a connection.
    case unix(path: String)

    /// Takes a numeric address. `Resolver` looks up names.
    package init?(host: String, port: UInt16) {
        guard let address = NetworkAddress(host) else { return nil }
        self = .ip(address, port: port)
    }

    package var port: UInt16? {
        if case .ip(_, let port) = self { port } else { nil }
    }

    package var isLoopback: Bool {
        switch self {
        case .ip(let address, _): address.isLoopback
        case .unix: true
        }
    }

    init(raw: cs_address) {
        let all = unsafe withUnsafeBytes(of: raw.bytes) { unsafe Array($0) }
        switch Int(raw.family) {
        case Int(CS_FAMILY_IPV4):
            self = .ip(NetworkAddress(v4: all[0], all[1], all[2], all[3]), port: raw.port)
        case Int(CS_FAMILY_IPV6):
            self = .ip(NetworkAddress(bytes: all) ?? .loopback6, port: raw.port)
        default:
            self = .unix(path: "")
        }
    }

    var raw: cs_address {
        guard case .ip(let address, let port) = self else { return cs_address() }
        var raw = cs_address()
        raw.family = UInt8(address.isIPv4 ? CS_FAMILY_IPV4 : CS_FAMILY_IPV6)
        raw.port = port
        let bytes = address.bytes
        unsafe withUnsafeMutableBytes(of: &raw.bytes) { target in
            for (place, byte) in bytes.enumerated() { unsafe target[place] = byte }
        }
        return raw
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ip(let address, let port): "\(address.hostText):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// Resolves names on Dispatch's shared threads, because look-ups block. The answer returns by `post`.
package enum Resolver {
    private static let most = 16

    package static func resolve(
        host: String,
        port: UInt16,
        for loop: EventLoop,
        _ completion: @escaping @Sendable ([SocketAddress], isolated EventLoop) -> Void
    ) {
        DispatchQueue.global().async {
            let found = lookUp(host: host, port: port)
            loop.post { completion(found, $0) }
        }
    }

    /// Blocks. Empty if the name is unknown.
    static func lookUp(host: String, port: UInt16) -> [SocketAddress] {
        guard !host.isEmpty, !host.utf8.contains(0) else { return [] }
        var raw = [cs_address](repeating: cs_address(), count: most)
        let count = unsafe raw.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_resolve(host, port, false, buffer.baseAddress, Int32(most))
        }
        return raw.prefix(max(Int(count), 0)).map { SocketAddress(raw: $0) }
    }
}
