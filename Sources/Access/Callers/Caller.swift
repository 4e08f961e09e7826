package import Basics

/// The sender of a request, as far as proven.
package enum Caller: Hashable, Sendable {
    /// The uid that runs the daemon, on the control socket or on loopback: every scope, no limits per caller.
    case owner(uid: UInt32)
    case token(TokenCaller)
    case tailnet(TailnetCaller)
    /// A one-time ticket: reads one path on behalf of the caller that got it.
    indirect case ticket(buyer: Caller, path: String)
    /// Anybody whom the MQTT broker lets publish commands: it does not say who.
    case broker(scopes: ScopeSet, sessions: SessionSet?)
    /// No identity is proven. Only open routes answer.
    case nobody

    package var scopes: ScopeSet {
        switch self {
        case .owner: .admin
        case .token(let caller): caller.scopes
        case .tailnet(let caller): caller.scopes
        case .ticket(let buyer, _): buyer.scopes.permits(.read) ? .read : []
        case .broker(let scopes, _): scopes
        case .nobody: []
        }
    }

    /// The sessions that this caller may use; nil means all.
    package var sessions: SessionSet? {
        switch self {
        case .owner, .nobody: nil
        case .token(let caller): caller.sessions
        case .tailnet(let caller): caller.sessions
        case .ticket(let buyer, _): buyer.sessions
        case .broker(_, let sessions): sessions
        }
    }

    /// The paths that this caller may use; nil means all.
    package var paths: AllowedPaths? {
        switch self {
        case .token(let caller): caller.paths
        case .ticket(let buyer, _): buyer.paths
        case .owner, .tailnet, .broker, .nobody: nil
        }
    }

    /// Resources without a session are only for callers that may use all sessions.
    package func mayUse(session: String?) -> Bool {
        guard let sessions else { return true }
        guard let session else { return false }
        return sessions.contains(session)
    }

    /// A caller that may use one of an agent's sessions may also read the agent's documents.
    package func mayUse(agent: String) -> Bool {
        guard let sessions else { return true }
        return sessions.contains { $0.text.utf8.starts(with: "agent:\(agent):".utf8) }
    }

    /// The id of the token that also ends this caller's streams.
    package var tokenID: String? {
        switch self {
        case .token(let caller): caller.id
        case .ticket(let buyer, _): buyer.tokenID
        default: nil
        }
    }

    /// The tailnet identity that also ends this caller's streams.
    package var tailnet: TailnetCaller? {
        switch self {
        case .tailnet(let caller): caller
        case .ticket(let buyer, _): buyer.tailnet
        default: nil
        }
    }

    /// Limits per caller apply to tokens and tailnet identities, not to the owner.
    package var isLimited: Bool {
        switch self {
        case .owner: false
        case .ticket(let buyer, _): buyer.isLimited
        default: true
        }
    }

    /// The caller whose limits count: that of a ticket is the one that got it.
    package var principal: Caller {
        if case .ticket(let buyer, _) = self { buyer } else { self }
    }

    /// The name under which the disk keeps what belongs to one caller: receipts, keys of repeats, read marks. It has the
    /// device and all rights in it: with other rights or from another device, it is another caller.
    package var identity: String {
        switch self {
        case .owner, .nobody: label
        case .token(let caller): Self.identity(label, caller.scopes, caller.sessions, caller.paths)
        case .tailnet(let caller): Self.identity("\(label) \(caller.device)", caller.scopes, caller.sessions, nil)
        case .ticket(let buyer, _): buyer.identity
        case .broker(let scopes, let sessions): Self.identity(label, scopes, sessions, nil)
        }
    }

    private static func identity(
        _ name: String,
        _ scopes: ScopeSet,
        _ sessions: SessionSet?,
        _ paths: AllowedPaths?
    ) -> String {
        let scoped = "\(name) \(scopes.names.joined(separator: ","))"
        guard sessions != nil || paths != nil else { return scoped }
        let limits = ["sessions"] + (sessions?.texts ?? ["*"]) + ["paths"] + (paths?.list ?? ["*"])
        let digest = SecretDigest(of: Array(limits.joined(separator: "\n").utf8))
        return "\(scoped) \(Hex.encode(Array(digest.bytes.prefix(16))))"
    }

    /// For logs and the audit file: stable, short, never a secret. Devices of one person share it, so nothing is kept by
    /// it.
    package var label: String {
        switch self {
        case .owner: "owner"
        case .token(let caller): "token:\(caller.id)"
        case .tailnet(let caller): "tailnet:\(caller.name)"
        case .ticket(let buyer, _): buyer.label
        case .broker: "mqtt"
        case .nobody: "nobody"
        }
    }
}

package struct TokenCaller: Hashable, Sendable {
    package let id: String
    package let name: String
    package let scopes: ScopeSet
    package let sessions: SessionSet?
    package let paths: AllowedPaths?

    package init(
        id: String,
        name: String,
        scopes: ScopeSet,
        sessions: SessionSet? = nil,
        paths: AllowedPaths? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.sessions = sessions
        self.paths = paths
    }
}

package struct TailnetCaller: Hashable, Sendable {
    /// The login of the node's user; for a tagged node, which has none, the node's name.
    package let name: String
    /// The node's id. Devices of one person may have different scopes.
    package let device: String
    package let tags: [String]
    package let scopes: ScopeSet
    package let sessions: SessionSet?
    /// The question whose answer named this identity; asked again later. Not part of the identity.
    package var question: WhoisQuestion?

    package init(
        name: String,
        device: String,
        tags: [String] = [],
        scopes: ScopeSet,
        sessions: SessionSet? = nil
    ) {
        self.name = name
        self.device = device
        self.tags = tags
        self.scopes = scopes
        self.sessions = sessions
    }

    package static func == (left: TailnetCaller, right: TailnetCaller) -> Bool {
        left.name == right.name && left.device == right.device && left.tags == right.tags
            && left.scopes == right.scopes && left.sessions == right.sessions
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(scopes)
    }
}

extension Caller {
    /// Checked first of all: a caller with limited paths must not learn whether other paths exist.
    /// - Parameter path: percent-encoded as sent.
    package func decide(path: ArraySlice<UInt8>) -> AccessDecision {
        guard let paths, !paths.cover(path) else { return .allowed }
        return .refused(.foreignPath(paths))
    }

    /// Checked first by every handler, before the body is read.
    package func decide(_ required: ScopeSet) -> AccessDecision {
        if scopes.permits(required) { return .allowed }
        if self == .nobody { return .refused(.notPaired(credentialSent: false)) }
        return .refused(.missingScope(required))
    }
}
