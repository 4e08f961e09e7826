import JSONBytes

/// The tailnet identities that need no token, and their scopes. By default none.
package struct TailnetPolicy: Sendable, Equatable {
    /// The capability with which a tailnet's policy file can grant scopes:
    /// `"ladle.local/cap/access": [{"scopes": ["read", "send"]}]`.
    package static let standardCapability = "ladle.local/cap/access"

    package enum Match: Hashable, Sendable {
        case login(String)
        case tag(String)
        case capability(String)
    }

    package struct Grant: Sendable, Equatable {
        package let match: Match
        package let scopes: ScopeSet

        package init(match: Match, scopes: ScopeSet) {
            self.match = match
            self.scopes = scopes
        }

        /// `alice@example.com=read,send`, `tag:kitchen=read`, `cap:example.com/cap/ladle=read`. Logins have no
        /// wildcard.
        package init?(_ text: String) {
            guard let equals = text.lastIndex(of: "=") else { return nil }
            let name = String(text[..<equals])
            let names = text[text.index(after: equals)...].split(separator: ",").map(String.init)
            guard case .success(let scopes) = ScopeSet.parse(names), !scopes.isEmpty, !name.isEmpty,
                !name.contains("*")
            else { return nil }
            if name.hasPrefix("tag:") {
                guard name.count > 4 else { return nil }
                match = .tag(name)
            } else if name.hasPrefix("cap:") {
                guard name.count > 4 else { return nil }
                match = .capability(String(name.dropFirst(4)))
            } else {
                match = .login(name.lowercased())
            }
            self.scopes = scopes
        }
    }

    package let grants: [Grant]
    /// Takes scopes from the values of `standardCapability`.
    package let readsCapability: Bool

    package init(grants: [Grant] = [], readsCapability: Bool = false) {
        self.grants = grants
        self.readsCapability = readsCapability
    }

    var admitsAnyone: Bool { !grants.isEmpty || readsCapability }

    /// The union of all grants that match, or nil when none does.
    package func caller(for identity: TailnetIdentity) -> TailnetCaller? {
        var scopes = ScopeSet()
        for grant in grants where matches(grant.match, identity) { scopes.formUnion(grant.scopes) }
        if readsCapability { scopes.formUnion(capabilityScopes(identity)) }
        guard !scopes.isEmpty else { return nil }
        return TailnetCaller(
            name: identity.displayName,
            device: identity.nodeID,
            tags: identity.tags,
            scopes: scopes
        )
    }

    private func matches(_ match: Match, _ identity: TailnetIdentity) -> Bool {
        switch match {
        case .login(let login): identity.login?.lowercased() == login
        case .tag(let tag): identity.tags.contains(tag)
        case .capability(let name): identity.capabilities[name] != nil
        }
    }

    /// A value with an unknown scope grants nothing: it is meant for another version.
    private func capabilityScopes(_ identity: TailnetIdentity) -> ScopeSet {
        var all = ScopeSet()
        for value in identity.capabilities[Self.standardCapability] ?? [] {
            guard let document = try? JSONDocument(parsing: value), let list = document.root["scopes"] else { continue }
            let names = list.elements.map { $0.string ?? "" }
            if case .success(let scopes) = ScopeSet.parse(names) { all.formUnion(scopes) }
        }
        return all
    }
}
