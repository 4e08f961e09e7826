/// The parts of a URL of PostgreSQL that decide whether it is safe.
package struct DatabaseURL: Sendable {
    /// A host that is neither this machine nor a socket on it, or a service, whose host only libpq knows.
    package let leavesMachine: Bool
    package let hasPassword: Bool
    /// The value of `sslmode`, if the URL has one.
    package let mode: String?

    /// Nil for a text of another kind.
    package init?(_ text: String) {
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return nil }
        let rest = text.dropFirst(scheme.count)
        let query = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = query[0].prefix { $0 != "/" }
        let at = authority.lastIndex(of: "@")
        let user = at.map { authority[..<$0] } ?? ""
        var words: [(name: Substring, value: Substring)] = []
        for word in query.dropFirst().first?.split(separator: "&") ?? [] {
            let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            words.append((sides[0], sides.count > 1 ? sides[1] : ""))
        }
        // libpq decodes names too, and a password or a host must not hide behind that.
        guard !words.contains(where: { $0.name.contains("%") }) else { return nil }
        func values(_ name: String) -> [Substring] { words.filter { $0.name == name }.map(\.value) }
        hasPassword = user.contains(":") || !values("password").isEmpty
        mode = values("sslmode").last.map(String.init)
        let hosts = authority[(at.map(authority.index(after:)) ?? authority.startIndex)...]
        let named =
            hosts.split(separator: ",").map(Self.host)
            + (values("host") + values("hostaddr")).flatMap { $0.split(separator: ",") }
        leavesMachine = named.contains { !Self.isHere($0) } || !values("service").isEmpty
    }

    /// A host without its port.
    private static func host(_ text: Substring) -> Substring {
        guard text.first == "[" else { return text.prefix { $0 != ":" } }
        return text.dropFirst().prefix { $0 != "]" }
    }

    private static func isHere(_ host: Substring) -> Bool {
        host.isEmpty || host == "localhost" || host == "::1" || host.hasPrefix("127.") || host.hasPrefix("/")
            || host.lowercased().hasPrefix("%2f")
    }
}
