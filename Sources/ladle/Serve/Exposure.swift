import Access
import Basics
import Configuration
import EventLoops
import Exchanges

/// What stands open to whom, in one line a listener: printed at the start.
enum Exposure {
    static let inherited = "a Unix socket of the service manager"

    static func lines(_ addresses: [SocketAddress], _ plan: ServePlan) -> [String] {
        let loopback =
            plan.settings.text(.accessLoopback) == "token"
            ? "this host: everyone needs a token" : "this host: its owner without a token, others with one"
        let tailnet =
            plan.tailnet.admitsAnyone
            ? "the tailnet: allowed identities, everyone else with a token" : "the tailnet: with a token"
        return addresses.map { address in
            switch address {
            case .ip(let ip, port: _) where ip.isLoopback: return "\(address) is open to \(loopback)"
            case .ip(let ip, port: _) where ip.isTailnet: return "\(address) is open to \(tailnet)"
            case .ip(let ip, port: _):
                let who = ip.isUnspecified ? "every network this host is on" : "the network"
                let how = plan.tls == nil ? ", in cleartext (insecureLan)" : ", over TLS"
                return "\(address) is open to \(who): with a token\(how)"
            case .unix(let path) where path == plan.servePath:
                return "\(path) is open to tailscale serve: identities it names that are allowed"
            case .unix(let path):
                let name = path.isEmpty ? Self.inherited : path
                return "\(name) is open to its owner, and to others with a token"
            }
        }
    }
}
