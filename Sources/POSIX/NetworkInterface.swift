package import Basics
import CSystem

/// One address of one of this host's interfaces.
package struct NetworkInterface: Sendable, Equatable {
    package let name: String
    package let index: UInt32
    package let address: NetworkAddress
    package let isUp: Bool
    package let isLoopback: Bool
    package let canMulticast: Bool

    package init(
        name: String,
        index: UInt32,
        address: NetworkAddress,
        isUp: Bool = true,
        isLoopback: Bool = false,
        canMulticast: Bool = true
    ) {
        self.name = name
        self.index = index
        self.address = address
        self.isUp = isUp
        self.isLoopback = isLoopback
        self.canMulticast = canMulticast
    }

    /// All interfaces of this host.
    package static func all() -> [NetworkInterface] {
        var raw = [cs_interface_address](repeating: cs_interface_address(), count: 256)
        let count = unsafe cs_interface_addresses(&raw, Int32(raw.count))
        guard count > 0 else { return [] }
        return raw[..<Int(count)].compactMap { entry in
            let name = unsafe withUnsafeBytes(of: entry.name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let bytes = unsafe withUnsafeBytes(of: entry.address) { unsafe Array($0) }
            guard let address = NetworkAddress(bytes: bytes) else { return nil }
            return NetworkInterface(
                name: name,
                index: entry.index,
                address: address,
                isUp: entry.flags & 1 != 0,
                isLoopback: entry.flags & 2 != 0,
                canMulticast: entry.flags & 4 != 0
            )
        }
    }
}
