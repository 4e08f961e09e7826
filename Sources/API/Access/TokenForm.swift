import Access
import Basics
import EventLoops
import JSONBytes
import Server

/// Checks the fields of a request for a token.
enum TokenForm {
    /// A hundred years: a longer duration is a mistake, and would overflow the range of times.
    private static let longestSeconds: Int64 = 3_155_760_000

    static let fields = ["name", "scopes", "sessions", "paths", "expiresInSeconds", "expiresAt"]

    /// `{name, scopes, sessions?, paths?, expiresInSeconds? | expiresAt?}`.
    /// - Parameter usual: the scopes of a request without `scopes`; nil if it must name them.
    static func newToken(
        _ body: JSONValue,
        scopes usual: ScopeSet? = nil,
        _ api: HTTPAPI,
        now: Timestamp
    ) throws(Problem) -> NewToken {
        guard let name = body["name"]?.string else {
            throw .invalidField("name", "`name` says what the token is for, a string.")
        }
        var sessions: [String]?
        if let list = body["sessions"], !list.isNull {
            var named: [String] = []
            for element in list.elements {
                guard let text = element.string else { throw .invalidField("sessions", "Session keys are strings.") }
                named.append(try api.runs.session(named: text, "sessions"))
            }
            guard !named.isEmpty else { throw .invalidField("sessions", "`sessions` is a list of session keys.") }
            sessions = named
        }
        let scopes: ScopeSet
        if let usual, body["scopes"]?.isNull ?? true {
            scopes = usual
        } else {
            scopes = try ScopeSet(asked: body["scopes"])
        }
        let paths = try paths(body["paths"], api)
        return try check(name, scopes, sessions, paths, expiresAt: try expiry(body, now: now), now: now)
    }

    /// The allowed paths; nil if none are named. A path without a route is a typing error, and is refused: its token
    /// would open nothing.
    static func paths(_ list: JSONValue?, _ api: HTTPAPI) throws(Problem) -> AllowedPaths? {
        guard let list, !list.isNull else { return nil }
        var named: [String] = []
        for element in list.elements {
            guard let text = element.string else { throw .invalidField("paths", "Paths are strings.") }
            named.append(text)
        }
        let paths: AllowedPaths
        do throws(AllowedPaths.Fault) {
            paths = try AllowedPaths(named)
        } catch {
            throw Problem(error)
        }
        for (path, names) in zip(paths.list, paths.names) where !api.leadsSomewhere(names) {
            throw .invalidField("paths", "There is nothing at \(path).", hint: "the paths are in /openapi.json")
        }
        return paths
    }

    static func check(
        _ name: String,
        _ scopes: ScopeSet,
        _ sessions: [String]? = nil,
        _ paths: AllowedPaths? = nil,
        expiresAt: Timestamp? = nil,
        now: Timestamp
    ) throws(Problem) -> NewToken {
        do throws(NewToken.Problem) {
            return try NewToken(
                name: name,
                scopes: scopes,
                sessions: sessions,
                paths: paths,
                expiresAt: expiresAt,
                now: now
            )
        } catch {
            throw Problem(error)
        }
    }

    /// The expiry. `expiresAt` wins over `expiresInSeconds`; both must be valid.
    private static func expiry(_ body: JSONValue, now: Timestamp) throws(Problem) -> Timestamp? {
        var end: Timestamp?
        if let value = body["expiresInSeconds"], !value.isNull {
            guard let seconds = value.int, (1...longestSeconds).contains(seconds) else {
                throw .invalidField(
                    "expiresInSeconds",
                    "`expiresInSeconds` is a whole number of seconds from 1 to \(longestSeconds)."
                )
            }
            end = now.adding(milliseconds: seconds * 1000)
        }
        if let value = body["expiresAt"], !value.isNull {
            guard let time = value.string.flatMap({ Timestamp(rfc3339: $0) }) else {
                throw .invalidField("expiresAt", "`expiresAt` is a time such as 2030-01-31T12:00:00Z.")
            }
            end = time
        }
        return end
    }
}

extension Problem {
    init(_ problem: NewToken.Problem) {
        self =
            switch problem {
            case .emptyName: .invalidField("name", "The name is empty.")
            case .longName(let limit): .invalidField("name", "A name has at most \(limit) characters.")
            case .unprintableName: .invalidField("name", "A name is one line of printable characters.")
            case .noScopes: .invalidField("scopes", "A token needs at least one scope.")
            case .tooManySessions(let limit): .invalidField("sessions", "A token names at most \(limit) sessions.")
            case .invalidSession: .invalidField("sessions", "That is no session key.")
            case .limitedAdmin:
                .invalidField("sessions", "A token with scope admin is not limited to sessions: it makes tokens.")
            case .pathLimitedAdmin:
                .invalidField("paths", "A token with scope admin is not limited to paths: it makes tokens.")
            case .expiryInThePast: .invalidField("expiresAt", "The token would have expired already.")
            }
    }

    fileprivate init(_ fault: AllowedPaths.Fault) {
        self =
            switch fault {
            case .none: .invalidField("paths", "`paths` is a list of paths such as /v1/glance.")
            case .tooMany(let limit): .invalidField("paths", "A token names at most \(limit) paths.")
            case .tooLong(let limit): .invalidField("paths", "A path has at most \(limit) bytes.")
            case .malformed(let path):
                .invalidField(
                    "paths",
                    "\(Printable.line(path.shortened)) is no path: it begins with a slash and ends without one, has no query, "
                        + "and none of its parts is empty, `.` or `..`.",
                    hint: "for example /v1/glance, or /v1/runs for all runs"
                )
            }
    }
}

extension ScopeSet {
    init(asked list: JSONValue?) throws(Problem) {
        guard let list, list.kind == .array else {
            throw .invalidField("scopes", "`scopes` is a list of: \(Self.known).")
        }
        var names: [String] = []
        for element in list.elements { names.append(element.string ?? "") }
        switch ScopeSet.parse(names) {
        case .success(let set): self = set
        case .failure(let unknown):
            let near = NearestName.of(unknown.name, in: Scope.allCases.map(\.rawValue)).map { "did you mean \($0)?" }
            throw .invalidField(
                "scopes",
                "There is no scope \"\(unknown.name.shortened)\"; there are \(Self.known).",
                hint: near
            )
        }
    }

    private static var known: String { Scope.allCases.map(\.rawValue).joined(separator: ", ") }
}
