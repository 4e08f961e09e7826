import Access
import Basics
import Commands
import Configuration
import EventLoops
import POSIX

/// The settings `tls.*`, checked. No file has been read yet.
struct TLSSettings: Sendable {
    /// The files of one certificate and its key.
    struct Pair: Sendable {
        let certificate: String
        let key: String
    }

    let pairs: [Pair]
    /// The certificate that Ladle makes if none is configured, with its key. Devices pin it, so it stays the same.
    let own: PrivateFile?
    /// The certificate of tailscaled, with its key.
    let tailnet: PrivateFile?
    let authorities: String?
    let allowedClients: Set<[UInt8]>

    /// Nil if no setting switches TLS on.
    static func read(_ settings: Settings, _ places: SettingsPlaces, data: String) throws(StartFailure) -> TLSSettings?
    {
        let (certificates, keys) = (settings.list(.tlsCert), settings.list(.tlsKey))
        guard certificates.count == keys.count else {
            throw StartFailure(
                message: "tls.cert and tls.key belong together: give as many of one as of the other",
                status: .configuration
            )
        }
        guard settings.hasTLS else { return nil }
        let (own, tailnet) = files(in: data)
        return TLSSettings(
            pairs: zip(certificates, keys).map { Pair(certificate: places.expanded($0), key: places.expanded($1)) },
            own: certificates.isEmpty ? own : nil,
            tailnet: settings.bool(.tlsTailnet) ? tailnet : nil,
            authorities: settings.text(.tlsClientCA).map(places.expanded),
            allowedClients: try fingerprints(settings.list(.tlsClientAllow))
        )
    }

    static let ownName = "self-signed.pem"

    static func files(in directory: String) -> (own: PrivateFile, tailnet: PrivateFile) {
        (PrivateFile("\(directory)/\(ownName)"), PrivateFile("\(directory)/tailnet-certificate.pem"))
    }

    /// With `tls.tailnet` alone, loopback has no TLS: nobody can listen in there, and scripts on this host need no certificate. If
    /// client certificates are required, loopback requires them too.
    func encrypts(_ address: SocketAddress) -> Bool {
        guard case .ip(let ip, port: _) = address, ip.isLoopback else { return true }
        return !pairs.isEmpty || authorities != nil || !allowedClients.isEmpty
    }

    private static func fingerprints(_ list: [String]) throws(StartFailure) -> Set<[UInt8]> {
        var allowed: Set<[UInt8]> = []
        for text in list {
            guard let bytes = Hex.decode(text.lowercased().filter { $0 != ":" }), bytes.count == 32 else {
                throw StartFailure(
                    message: "tls.clientAllow: \(text.prefix(80)) is not a SHA-256 fingerprint (64 hexadecimal digits)",
                    status: .configuration
                )
            }
            allowed.insert(bytes)
        }
        return allowed
    }
}
