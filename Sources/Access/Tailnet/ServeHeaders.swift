import Basics

/// The headers of `tailscale serve` about the client behind it. They count only on the socket for Serve, from
/// tailscaled's own uid, and if `whois` of the forwarded address names the same login.
package struct ServeHeaders: Sendable, Equatable {
    package let login: String?
    package let forwardedFor: [String]
    package let isFunnel: Bool

    package init(login: String?, forwardedFor: [String], isFunnel: Bool) {
        self.login = login
        self.forwardedFor = forwardedFor
        self.isFunnel = isFunnel
    }

    /// The forwarded address. Serve sets the field itself, so a list means that another proxy took part.
    var clientAddress: NetworkAddress? {
        guard forwardedFor.count == 1, let address = NetworkAddress(forwardedFor[0]), address.isTailnet else {
            return nil
        }
        return address
    }
}
