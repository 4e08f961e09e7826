/// One permission. Configuration, tokens and problems use the same names.
package enum Scope: String, CaseIterable, Sendable {
    case read, send, identity, control, approvals, nodes, admin
}

/// A set of scopes; `admin` implies all the others.
package struct ScopeSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package init(_ scope: Scope) {
        rawValue =
            switch scope {
            case .read: 1
            case .send: 2
            case .identity: 4
            case .control: 8
            case .nodes: 16
            case .admin: 32
            case .approvals: 64
            }
    }

    package init(_ scopes: some Sequence<Scope>) {
        self = scopes.reduce(into: []) { $0.formUnion(ScopeSet($1)) }
    }

    package static let read = ScopeSet(.read)
    package static let send = ScopeSet(.send)
    package static let identity = ScopeSet(.identity)
    package static let control = ScopeSet(.control)
    package static let approvals = ScopeSet(.approvals)
    package static let nodes = ScopeSet(.nodes)
    package static let admin = ScopeSet(.admin)

    package func permits(_ wanted: ScopeSet) -> Bool {
        contains(.admin) || isSuperset(of: wanted)
    }

    /// In the order of `Scope`, which is also the order in output.
    package var list: [Scope] { Scope.allCases.filter { contains(ScopeSet($0)) } }
    package var names: [String] { list.map(\.rawValue) }

    /// Reads names. Fails with the first unknown one.
    package static func parse(_ names: some Sequence<String>) -> Result<ScopeSet, UnknownScope> {
        var set = ScopeSet()
        for name in names {
            guard let scope = Scope(rawValue: name) else { return .failure(UnknownScope(name: name)) }
            set.insert(ScopeSet(scope))
        }
        return .success(set)
    }

    package struct UnknownScope: Error, Equatable, Sendable {
        package let name: String

        package init(name: String) {
            self.name = name
        }
    }
}
