package import Basics
import POSIX

/// The address of a DNS resolver.
package struct DNSServer: Sendable, Hashable {
    package let address: NetworkAddress
    package let port: UInt16

    package init(address: NetworkAddress, port: UInt16 = 53) {
        self.address = address
        self.port = port
    }

    /// Parses `ADDRESS`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
    package init?(_ text: String) {
        if let address = NetworkAddress(text) {
            self.init(address: address)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard let address = NetworkAddress(String(isBracketed ? host.dropFirst().dropLast() : host)),
            address.isIPv4 != isBracketed
        else { return nil }
        self.init(address: address, port: port)
    }

    /// The system's resolvers from `/etc/resolv.conf`; the local one if the file names none, as resolv.conf(5) says.
    package static func system() -> [DNSServer] {
        let found = parse((try? FileSystem.read("/etc/resolv.conf", limit: 64 << 10).bytes) ?? [])
        return found.isEmpty ? [DNSServer(address: .loopback4)] : found
    }

    /// Reads at most three servers, as the C library does. Addresses with a zone are skipped.
    static func parse(_ bytes: [UInt8]) -> [DNSServer] {
        var servers: [DNSServer] = []
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let words = line.split { $0 == 0x20 || $0 == 0x09 }
            guard words.count >= 2, words[0].elementsEqual("nameserver".utf8),
                let address = NetworkAddress(String(decoding: words[1], as: UTF8.self)), servers.count < 3
            else { continue }
            servers.append(DNSServer(address: address))
        }
        return servers
    }
}
