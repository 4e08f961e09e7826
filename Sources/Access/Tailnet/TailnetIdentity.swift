package import Basics

/// The identity behind an address: one answer of tailscaled's `whois`.
package struct TailnetIdentity: Sendable, Equatable {
    /// Stable across renames.
    package let nodeID: String
    package let nodeName: String
    /// Nil for a tagged node, which acts for no person, even if the answer mentions a user.
    package let login: String?
    package let tags: [String]
    /// Application capabilities the tailnet's policy grants this peer towards this node, with the raw JSON of each
    /// value.
    package let capabilities: [String: [[UInt8]]]

    package init(
        nodeID: String,
        nodeName: String,
        login: String?,
        tags: [String],
        capabilities: [String: [[UInt8]]] = [:]
    ) {
        self.nodeID = nodeID
        self.nodeName = nodeName
        self.login = tags.isEmpty ? login : nil
        self.tags = tags
        self.capabilities = capabilities
    }

    package var displayName: String { login ?? nodeName }
}

/// The answer of `whois`. Only `known` lets a caller in.
package enum WhoisAnswer: Sendable, Equatable {
    case known(TailnetIdentity)
    /// The daemon answered that this address is no peer of the tailnet.
    case unknown
    /// tailscaled is not there, was too slow, or its answer could not be read.
    case failed(String)
}

/// The question: who is behind this address? The port matters: with userspace networking the flow appears as loopback
/// and only the port leads back to the peer. Port 0 asks for the address alone, as Serve's forwarded addresses have
/// none.
package struct WhoisQuestion: Hashable, Sendable {
    package let address: PeerAddress

    package init(address: PeerAddress) {
        self.address = address
    }

    /// With userspace networking a port of loopback stands for a peer, and a moment later for another one. The answer
    /// is then valid only for the request that asked.
    package var isForOneRequest: Bool { address.ip.isLoopback }

    package var request: [UInt8] {
        let place = address.port == 0 ? address.ip.description : address.description
        let encoded = place.reduce(into: "") {
            $0 += $1 == ":" ? "%3A" : $1 == "[" ? "%5B" : $1 == "]" ? "%5D" : String($1)
        }
        return TailscaledExchange.request("whois?addr=\(encoded)&proto=tcp")
    }
}
