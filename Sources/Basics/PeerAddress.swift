/// An IP address and a TCP port.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    package let ip: NetworkAddress
    package let port: UInt16

    package init(ip: NetworkAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    package var description: String { "\(ip.hostText):\(port)" }
}
