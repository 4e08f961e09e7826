/// A choice of sessions, such as the ones that a token may use.
package struct SessionSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    private let keys: Set<SessionKey>

    package init(_ sessions: some Sequence<String>) { keys = Set(sessions.map { SessionKey(canonical: $0) }) }

    package init(arrayLiteral sessions: String...) { self.init(sessions) }

    /// The keys in order.
    package var texts: [String] { keys.sorted().map(\.text) }

    package func contains(_ session: String) -> Bool { keys.contains(SessionKey(canonical: session)) }

    package func contains(where fits: (SessionKey) -> Bool) -> Bool { keys.contains(where: fits) }
}

/// A choice of sessions in which nil stands for all of them.
extension Sequence<String?> {
    package func admit(_ session: String?) -> Bool {
        contains { wanted in wanted.map { session?.isSameText(as: $0) ?? false } ?? true }
    }
}
