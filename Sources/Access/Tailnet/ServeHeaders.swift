package import Basics

/// What `tailscale serve` says about the client it forwards for. Believed only on the dedicated socket, from
/// tailscaled's own uid, and after `whois` of the forwarded address named the same login.
package struct ServeHeaders: Sendable, Equatable {
    package let login: String?
    package let forwardedFor: [String]
    package let isFunnel: Bool

    package init(login: String?, forwardedFor: [String], isFunnel: Bool) {
        self.login = login
        self.forwardedFor = forwardedFor
        self.isFunnel = isFunnel
    }

    /// The one forwarded address. Serve sets the field itself, so a list means that something else took part.
    package var clientAddress: NetworkAddress? {
        guard forwardedFor.count == 1, let address = NetworkAddress(forwardedFor[0]), address.isTailnet else {
            return nil
        }
        return address
    }
}
