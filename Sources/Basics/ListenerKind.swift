/// The kind of listener that accepted a connection. The access rules depend on it.
package enum ListenerKind: Sendable, Equatable {
    /// A TCP address. The caller's address shows whether it is loopback, tailnet or LAN.
    case tcp
    /// The control socket in the state directory.
    case control
    /// A Unix socket given by `--listen unix:PATH`.
    case unix
    /// A Unix socket that only `tailscale serve` may use.
    case serve
}
