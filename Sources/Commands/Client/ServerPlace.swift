import Basics
import TLS

/// The Ladle that a client command talks to, and how it gets in.
package struct ServerPlace: Equatable, Sendable {
    package enum Address: Equatable, Sendable {
        case unix(path: String)
        case tcp(WebAddress)
    }

    package let address: Address
    /// Sent with each request; nil where the place needs none.
    var token: String?
    /// The SHA-256 of the server's own certificate, in place of the system's authorities.
    var pin: [UInt8]?

    package init(_ address: Address, token: String? = nil, pin: [UInt8]? = nil) {
        self.address = address
        self.token = token
        self.pin = pin
    }

    var trust: TLSTrust { pin.map { .pin(sha256: $0) } ?? .system }

    /// Reads the SHA-256 of a certificate, with or without colons.
    static func pin(_ text: String) -> [UInt8]? {
        Hex.decode(text.filter { $0 != ":" }.lowercased()).flatMap { $0.count == 32 ? $0 : nil }
    }
}

extension ServerPlace.Address: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unix(let path): path
        case .tcp(let address): address.description
        }
    }

    /// For the `Host` line.
    var host: String {
        switch self {
        case .unix: "ladle"
        case .tcp(let address): address.authority
        }
    }

    /// The path below which a proxy serves the API.
    var path: String {
        switch self {
        case .unix: ""
        case .tcp(let address): address.path
        }
    }
}
