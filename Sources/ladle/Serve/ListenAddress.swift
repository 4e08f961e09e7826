import Basics
import Configuration
import EventLoops
import Server

/// One place to listen, parsed from `HOST:PORT`, `unix:PATH`, `tailnet[:PORT]` or `fd:[NAME]`.
struct ListenAddress: Sendable, Equatable {
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    enum Source: Sendable, Equatable {
        case bound
        case inherited(InheritedSocket)
        /// One of this host's tailnet addresses, which come and go.
        case tailnet
    }

    /// The rules for a listener, with the addresses and sockets of this host.
    struct Rules: Sendable {
        /// Whether addresses outside this host and the tailnet are allowed: with TLS, or with `insecureLan`.
        var allowsNetwork = false
        /// This host's addresses in the tailnet.
        var tailnet: @Sendable () -> [NetworkAddress] = { [] }
        /// The sockets that the service manager passed on.
        var inherited: [InheritedSocket] = []
    }

    static let defaultPort: UInt16 = 18_780

    var kind: ListenerKind
    var address: SocketAddress
    /// The mode of a Unix socket.
    var mode: UInt32 = 0o600
    var owner: SocketFile.Owner?
    var source = Source.bound

    /// Whether hosts outside the tailnet may reach the listener. An inherited socket's address is only known once it is open.
    var mayFaceNetwork: Bool {
        if case .inherited = source { return kind == .tcp }
        return kind == .tcp && source == .bound && address.facesNetwork
    }

    static func control(in state: String) -> ListenAddress {
        ListenAddress(kind: .control, address: .unix(path: state + "/ladle.sock"))
    }

    /// A socket only for `tailscale serve`, which runs as another user. Its uid is checked at each connection.
    static func serve(_ path: String) throws(Fault) -> ListenAddress {
        ListenAddress(kind: .serve, address: .unix(path: try socketPath(path, of: path)), mode: 0o666)
    }

    static func parse(_ text: String, _ rules: Rules) throws(Fault) -> [ListenAddress] {
        if text.hasPrefix("unix:") {
            let path = try socketPath(String(text.dropFirst(5)), of: text)
            return [ListenAddress(kind: .unix, address: .unix(path: path))]
        }
        if text == "fd:" || text.hasPrefix("fd:") { return try inherited(text, rules) }
        if let port = try tailnetPort(text) {
            return rules.tailnet().map {
                ListenAddress(kind: .tcp, address: .ip($0, port: port), source: .tailnet)
            }
        }
        let (host, portText) = try split(text)
        let port = try port(portText, of: text)
        let name = host == "localhost" ? "127.0.0.1" : host
        guard let address = NetworkAddress(name) else {
            throw Fault(description: "`\(text)`: write an address and a port, such as 127.0.0.1:\(defaultPort)")
        }
        if let fault = exposure(of: address, text, rules) { throw fault }
        return [ListenAddress(kind: .tcp, address: .ip(address, port: port))]
    }

    /// The port of `tailnet[:PORT]`; nil for another form.
    static func tailnetPort(_ text: String) throws(Fault) -> UInt16? {
        guard text == "tailnet" || text.hasPrefix("tailnet:") else { return nil }
        return try port(text == "tailnet" ? nil : String(text.dropFirst(8)), of: text)
    }

    static func exposure(of address: NetworkAddress, _ text: String, _ rules: Rules) -> Fault? {
        if address.isLoopback || rules.allowsNetwork { return nil }
        if address.isTailnet {
            // Some providers use this range too, so if this host is in a tailnet, only its own addresses count.
            let own = rules.tailnet()
            if own.isEmpty || own.contains(address) { return nil }
        }
        return Fault(
            description: "`\(text)`: others on the network could read along; give tls.cert and tls.key, or "
                + "--insecure-lan if the network is trusted"
        )
    }

    private static func inherited(_ text: String, _ rules: Rules) throws(Fault) -> [ListenAddress] {
        let name = String(text.dropFirst(3))
        let found = rules.inherited.filter { name.isEmpty || $0.name == name }
        guard !found.isEmpty else {
            throw Fault(
                description: "`\(text)`: the service manager handed over no such socket (LISTEN_FDS and LISTEN_PID)"
            )
        }
        // The address of each socket is read when the socket is opened.
        return found.map { socket in
            ListenAddress(
                kind: socket.name == "serve" ? .serve : .tcp,
                address: .unix(path: ""),
                source: .inherited(socket)
            )
        }
    }

    /// `sun_path` has 108 bytes on Linux and 104 elsewhere, one of them for the final NUL.
    private static func socketPath(_ path: String, of whole: String) throws(Fault) -> String {
        guard path.hasPrefix("/") else { throw Fault(description: "`\(whole)`: a socket path starts with /") }
        guard path.utf8.count < 104, !path.utf8.contains(0) else {
            throw Fault(description: "`\(whole)`: a socket path has at most 103 bytes")
        }
        return path
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

extension SocketAddress {
    var facesNetwork: Bool {
        if case .ip(let address, port: _) = self { !address.isLoopback && !address.isTailnet } else { false }
    }
}
