package import Basics
package import POSIX

/// One-shot multicast questions (RFC 6762 §5.1) on every interface that supports multicast. The questions come from a
/// free port, so that responders answer Ladle directly and port 5353 can stay in another program's hands.
package struct MulticastBrowser {
    /// The destination of questions: a multicast group for each address family, or a test's own responder.
    package struct Destination: Sendable, Equatable {
        package let address: NetworkAddress
        package let port: UInt16

        package init(address: NetworkAddress, port: UInt16) {
            self.address = address
            self.port = port
        }

        static let groups = [
            Destination(address: NetworkAddress(v4: 224, 0, 0, 251), port: 5353),
            Destination(address: NetworkAddress(high: 0xFF02_0000_0000_0000, low: 0xFB), port: 5353),
        ]
    }

    private let destinations: [Destination]
    private let interfaces: [NetworkInterface]

    /// When to ask, in milliseconds: datagrams may get lost, so RFC 6762 §5.2 repeats the question after one second and
    /// then at growing intervals.
    private static let repeats: [Int64] = [0, 250, 1000, 3000]
    private static let mostSockets = 32

    package init(destinations: [Destination]? = nil, interfaces: [NetworkInterface] = NetworkInterface.all()) {
        self.destinations = destinations ?? Destination.groups
        self.interfaces = interfaces
    }

    /// Listens for the whole time, because the number of answers is unknown. `enough` can end it early.
    package func browse(
        for service: AnnouncedService = .gateway,
        milliseconds: Int64 = 3000,
        enough: (([DiscoveredGateway]) -> Bool)? = nil
    ) -> [DiscoveredGateway] {
        guard var browse = GatewayBrowse(for: service) else { return [] }
        let sockets = openSockets()
        guard !sockets.isEmpty else { return [] }
        let start = HostClock.monotonicMilliseconds
        var asked: Set<DNSQuestion> = []
        var repeats = Self.repeats[...]
        while true {
            let elapsed = HostClock.monotonicMilliseconds - start
            guard elapsed < milliseconds else { break }
            if let due = repeats.first, elapsed >= due {
                repeats = repeats.dropFirst()
                asked = []
            }
            let fresh = browse.questions.filter { asked.insert($0).inserted }
            if !fresh.isEmpty { send(DNSMessage(questions: fresh).bytes, on: sockets) }
            if let enough, browse.isComplete, enough(browse.gateways) { break }
            let next = min(milliseconds, repeats.first ?? milliseconds)
            for socket in DatagramSocket.wait(sockets, milliseconds: max(1, next - elapsed)) {
                while let datagram = socket.receive() { receive(datagram.bytes, from: datagram.port, into: &browse) }
            }
        }
        return browse.gateways
    }

    /// Answers come from the port that the question went to (RFC 6762 §6); all other datagrams are ignored.
    func receive(_ bytes: [UInt8], from port: UInt16, into browse: inout GatewayBrowse) {
        guard destinations.contains(where: { $0.port == port }), let message = try? DNSMessage(parsing: bytes) else {
            return
        }
        browse.receive(message)
    }

    private func openSockets() -> [DatagramSocket] {
        var sockets: [DatagramSocket] = []
        var seen: Set<String> = []
        for isIPv6 in [false, true] where destinations.contains(where: { $0.address.isIPv4 != isIPv6 }) {
            for interface in interfaces
            where interface.isUp && interface.canMulticast && interface.address.isIPv4 != isIPv6
                && sockets.count < Self.mostSockets && seen.insert("\(interface.index)/\(isIPv6)").inserted
            {
                if let socket = try? DatagramSocket(isIPv6: isIPv6, interface: interface) {
                    sockets.append(socket)
                }
            }
        }
        return sockets
    }

    private func send(_ bytes: [UInt8], on sockets: [DatagramSocket]) {
        for socket in sockets {
            for destination in destinations where destination.address.isIPv4 != socket.isIPv6 {
                socket.send(bytes, to: destination.address, port: destination.port)
            }
        }
    }
}
