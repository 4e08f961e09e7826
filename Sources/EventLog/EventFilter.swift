/// Which events a reader wants. Types are exact names or a family: `run.*`.
package struct EventFilter: Sendable, Hashable {
    package var types: [String]
    package var session: String?
    package var run: String?

    package init(types: [String] = [], session: String? = nil, run: String? = nil) {
        self.types = types
        self.session = session
        self.run = run
    }

    package static let all = EventFilter()

    package func admits(type: String, session: String?, run: String?) -> Bool {
        if let wanted = self.session, wanted != session { return false }
        if let wanted = self.run, wanted != run { return false }
        return admits(type: type)
    }

    package func admits(type: String) -> Bool {
        types.isEmpty
            || types.contains { pattern in
                if pattern == "*" || pattern == type { return true }
                return pattern.hasSuffix(".*") && type.utf8.starts(with: pattern.utf8.dropLast())
            }
    }
}
