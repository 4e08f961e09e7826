package import Basics

/// The sender of a request, as far as proven.
package enum Caller: Hashable, Sendable {
    /// The uid that runs the daemon, on the control socket or on loopback: every scope, no limits per caller.
    case owner(uid: UInt32)
    case token(TokenCaller)
    case tailnet(TailnetCaller)
    /// A one-time ticket: reads one path on behalf of the caller that got it.
    indirect case ticket(buyer: Caller, path: String)
    /// No identity is proven. Only open routes answer.
    case nobody

    package var scopes: ScopeSet {
        switch self {
        case .owner: .admin
        case .token(let caller): caller.scopes
        case .tailnet(let caller): caller.scopes
        case .ticket(let buyer, _): buyer.scopes.permits(.read) ? .read : []
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
        }
    }

    /// The paths that this caller may use; nil means all.
    package var paths: AllowedPaths? {
        switch self {
        case .token(let caller): caller.paths
        case .ticket(let buyer, _): buyer.paths
        case .owner, .tailnet, .nobody: nil
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

    /// For logs, the audit file and idempotency keys: stable, short, never a secret.
    package var label: String {
        switch self {
        case .owner: "owner"
        case .token(let caller): "token:\(caller.id)"
        case .tailnet(let caller): "tailnet:\(caller.name)"
        case .ticket(let buyer, _): buyer.label
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
    package let tags: [String]
    package let scopes: ScopeSet
    package let sessions: SessionSet?
    /// The question whose answer named this identity; asked again later. Not part of the identity.
    package var question: WhoisQuestion?

    package init(name: String, tags: [String] = [], scopes: ScopeSet, sessions: SessionSet? = nil) {
        self.name = name
        self.tags = tags
        self.scopes = scopes
        self.sessions = sessions
    }

    package static func == (left: TailnetCaller, right: TailnetCaller) -> Bool {
        left.name == right.name && left.tags == right.tags && left.scopes == right.scopes
            && left.sessions == right.sessions
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
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
