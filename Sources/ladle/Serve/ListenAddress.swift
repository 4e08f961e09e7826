import Basics
import EventLoops
import Exchanges

/// One place to listen, as written by a person: `HOST:PORT`, `unix:PATH`, `tailnet[:PORT]`.
struct ListenAddress: Sendable {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    static let defaultPort: UInt16 = 18_780

    let kind: ConnectionInfo.Door
    let address: SocketAddress
    /// For Unix sockets.
    var mode: UInt32 = 0o600

    static func control(in state: String) -> ListenAddress {
        ListenAddress(kind: .control, address: .unix(path: state + "/ladle.sock"))
    }

    static func parse(_ text: String, insecureLAN: Bool, tailnet: () -> [NetworkAddress]) throws(Fault)
        -> [ListenAddress]
    {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/") else { throw Fault(description: "`\(text)`: a socket path starts with /") }
            return [ListenAddress(kind: .unix, address: .unix(path: path))]
        }
        if text == "tailnet" || text.hasPrefix("tailnet:") {
            let port = try port(text == "tailnet" ? nil : String(text.dropFirst(8)), of: text)
            let found = tailnet()
            guard !found.isEmpty else {
                throw Fault(description: "`\(text)`: this host has no tailnet address; is tailscale up?")
            }
            return found.map { ListenAddress(kind: .tcp, address: .ip($0, port: port)) }
        }
        let (host, portText) = try split(text)
        let port = try port(portText, of: text)
        let name = host == "localhost" ? "127.0.0.1" : host
        guard let address = NetworkAddress(name) else {
            throw Fault(description: "`\(text)`: write an address and a port, such as 127.0.0.1:\(defaultPort)")
        }
        guard address.isLoopback || address.isTailnet || insecureLAN else {
            throw Fault(
                description: "`\(text)`: others on the network could read along; give tls.cert and tls.key, or "
                    + "--insecure-lan if the network is trusted"
            )
        }
        return [ListenAddress(kind: .tcp, address: .ip(address, port: port))]
    }

    private static func split(_ text: String) throws(Fault) -> (String, String?) {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            return (
                String(text[text.index(after: text.startIndex)..<end]),
                rest.hasPrefix(":") ? String(rest.dropFirst()) : nil
            )
        }
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    private static func port(_ text: String?, of whole: String) throws(Fault) -> UInt16 {
        guard let text else { return defaultPort }
        guard let port = UInt16(text) else {
            throw Fault(description: "`\(whole)`: the port is a number from 0 to 65535")
        }
        return port
    }
}
