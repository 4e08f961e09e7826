import Access
import Basics
import Configuration
import EventLoops

/// Says in one line for each listener who can use it. Printed at the start and by `ladle doctor`.
struct Exposure {
    static let inherited = "a Unix socket of the service manager"

    /// Only Linux says which user opened a loopback connection.
    #if os(Linux)
    private static let knowsUsers = true
    #else
    private static let knowsUsers = false
    #endif

    /// Whether the owner needs a token on loopback.
    let ownerNeedsToken: Bool
    private let loopback: String
    private let tailnet: String
    private let isEncrypted: Bool
    private let servePath: String?

    init(_ settings: Settings) {
        let wantsToken = settings.text(.accessLoopback) == "token"
        let isShared = Tailscaled.find(ServeConfiguration.tailscaledPaths(settings))?.uid == PeerLookup.ownerUID
        ownerNeedsToken = wantsToken || isShared || !Self.knowsUsers
        loopback =
            if wantsToken {
                "this host: everyone needs a token"
            } else if isShared {
                "this host: everyone needs a token, since tailscaled runs as the same user and may connect for others"
            } else {
                "this host: its owner without a token, others with one"
            }
        tailnet =
            settings.list(.accessTailnetAllow).isEmpty && !settings.bool(.accessTailnetCapability)
            ? "the tailnet: with a token" : "the tailnet: allowed identities, everyone else with a token"
        isEncrypted = settings.hasTLS
        servePath = settings.text(.accessTailnetServe)
    }

    func line(_ address: SocketAddress) -> String {
        switch address {
        case .ip(let ip, port: _) where ip.isLoopback: return "\(address) is open to \(loopback)"
        case .ip(let ip, port: _) where ip.isTailnet: return "\(address) is open to \(tailnet)"
        case .ip(let ip, port: _):
            let who = ip.isUnspecified ? "every network this host is on" : "the network"
            let how = isEncrypted ? ", over TLS" : ", in cleartext (insecureLan)"
            return "\(address) is open to \(who): with a token\(how)"
        case .unix(let path) where path == servePath:
            return "\(path) is open to tailscale serve: identities it names that are allowed"
        case .unix(let path):
            return "\(path.isEmpty ? Self.inherited : path) is open to its owner, and to others with a token"
        }
    }
}
