package import Basics

/// The checked properties of a new token.
package struct NewToken: Sendable, Equatable {
    package let name: String
    package let scopes: ScopeSet
    package let sessions: SessionSet?
    package let paths: AllowedPaths?
    package let expiresAt: Timestamp?

    package enum Problem: Error, Equatable, Sendable {
        case emptyName
        case longName(limit: Int)
        case unprintableName
        case noScopes
        case tooManySessions(limit: Int)
        case invalidSession
        case expiryInThePast
        /// A token with scope `admin` can make unlimited tokens, so limits of its own would mean nothing.
        case limitedAdmin
        case pathLimitedAdmin
    }

    /// Names are shown on terminals and in lists: short, one line, no control or format characters. In Unicode scalars, as JSON Schema
    /// counts a string.
    package static let longestName = 64
    package static let mostSessions = 64

    /// - Parameter sessions: as written in the request; the limit on their number counts these.
    package init(
        name: String,
        scopes: ScopeSet,
        sessions: [String]? = nil,
        paths: AllowedPaths? = nil,
        expiresAt: Timestamp? = nil,
        now: Timestamp
    ) throws(Problem) {
        guard !name.isEmpty else { throw .emptyName }
        guard name.unicodeScalars.count <= Self.longestName else { throw .longName(limit: Self.longestName) }
        guard name.unicodeScalars.allSatisfy(Self.isPrintable) else { throw .unprintableName }
        guard !scopes.isEmpty else { throw .noScopes }
        guard sessions?.count ?? 0 <= Self.mostSessions else { throw .tooManySessions(limit: Self.mostSessions) }
        for session in sessions ?? [] {
            guard !session.isEmpty, session.utf8.count <= 512,
                !session.unicodeScalars.contains(where: { $0.properties.generalCategory == .control || $0 == " " })
            else {
                throw .invalidSession
            }
        }
        if let expiresAt, expiresAt <= now { throw .expiryInThePast }
        if sessions != nil, scopes.contains(.admin) { throw .limitedAdmin }
        if paths != nil, scopes.contains(.admin) { throw .pathLimitedAdmin }
        self.name = name
        self.scopes = scopes
        self.sessions = sessions.map { SessionSet($0) }
        self.paths = paths
        self.expiresAt = expiresAt
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
