import Basics
import TLS

/// The Ladle that a client command talks to, and its credentials.
package struct ServerPlace: Equatable, Sendable {
    package enum Address: Equatable, Sendable {
        case unix(path: String)
        case tcp(WebAddress)
    }

    package let address: Address
    /// The token sent with each request; nil if none is needed.
    var token: String?
    /// The SHA-256 of the server's own certificate, replacing the system's authorities.
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

    /// The host in the `Host` field.
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
