import Basics

/// A subscriber's choice of events: `?types=run.*,outbox&session=KEY&run=ID`.
package struct EventFilter: Sendable, Hashable {
    package enum TypePattern: Sendable, Hashable {
        case exact(String)
        /// `run.*`: every type that begins with `run.`.
        case prefix(String)

        var text: String {
            switch self {
            case .exact(let name): name
            case .prefix(let prefix): prefix + "*"
            }
        }

        package func matches(_ type: String) -> Bool {
            switch self {
            case .exact(let name): name == type
            case .prefix(let prefix): type.hasPrefix(prefix)
            }
        }
    }

    static let maxTypes = 32
    /// The longest session key or run id. Both are opaque; the limit bounds the memory that a subscriber can use.
    static let maxValueBytes = 512

    /// Empty means all.
    package private(set) var types: [TypePattern] = []
    private var sessionKey: SessionKey?
    package private(set) var run: String?

    package var session: String? { sessionKey?.text }

    package static let everything = EventFilter()

    private init() {}

    /// - Parameter known: every existing type. A name or pattern that fits none is an error: the stream would stay
    ///   silent and nobody would know why.
    package init(types: String?, session: String?, run: String?, known: [String]) throws(EventFilterError) {
        if let types { self.types = try Self.patterns(types, known: known) }
        sessionKey = try Self.value(session, of: "session").map { SessionKey(canonical: $0) }
        self.run = try Self.value(run, of: "run")
    }

    /// The query parameters that say the same.
    package var query: [(String, String)] {
        var items: [(String, String)] = []
        if !types.isEmpty { items.append(("types", types.map(\.text).joined(separator: ","))) }
        if let session { items.append(("session", session)) }
        if let run { items.append(("run", run)) }
        return items
    }

    package func admits(type: String) -> Bool {
        types.isEmpty || types.contains { $0.matches(type) }
    }

    /// Whether the type was requested by name: a subscriber to all types may not need this one.
    package func names(_ type: String) -> Bool { types.contains(.exact(type)) }

    /// - Parameters session, run: the subject of the event; an event without them passes no filter on them.
    package func admits(type: String, session: String?, run: String?) -> Bool {
        if let sessionKey, session.map({ SessionKey(canonical: $0) }) != sessionKey { return false }
        if let wanted = self.run, wanted != run { return false }
        return admits(type: type)
    }

    private static func patterns(_ list: String, known: [String]) throws(EventFilterError) -> [TypePattern] {
        var patterns: [TypePattern] = []
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            let name = String(part.drop { $0 == " " })
            guard !name.isEmpty else { throw EventFilterError(parameter: "types", reason: .empty) }
            guard patterns.count < maxTypes else {
                throw EventFilterError(parameter: "types", reason: .tooMany(maxTypes))
            }
            let pattern: TypePattern
            if name.utf8.last == 0x2A {
                let prefix = String(name.dropLast())
                guard prefix.isEmpty || prefix.utf8.last == 0x2E, !prefix.contains("*") else {
                    throw EventFilterError(parameter: "types", reason: .badPattern(cut(name)))
                }
                pattern = .prefix(prefix)
            } else {
                pattern = .exact(name)
            }
            guard known.contains(where: pattern.matches) else {
                throw EventFilterError(
                    parameter: "types",
                    reason: .unknownType(cut(name), nearest: NearestName.of(name, in: known))
                )
            }
            if !patterns.contains(pattern) { patterns.append(pattern) }
        }
        return patterns
    }

    private static func value(_ text: String?, of parameter: String) throws(EventFilterError) -> String? {
        guard let text else { return nil }
        guard !text.isEmpty else { throw EventFilterError(parameter: parameter, reason: .empty) }
        guard text.utf8.count <= maxValueBytes else {
            throw EventFilterError(parameter: parameter, reason: .tooLong(maxValueBytes))
        }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw EventFilterError(parameter: parameter, reason: .controlCharacter)
        }
        return text
    }

    /// Shortens input for an error message.
    private static func cut(_ name: String) -> String { String(name.prefix(64)) }
}

/// An invalid query parameter of the event stream.
package struct EventFilterError: Error, Equatable, Sendable {
    package enum Reason: Sendable, Equatable {
        case empty
        case unknownType(String, nearest: String?)
        case badPattern(String)
        case tooMany(Int)
        case tooLong(Int)
        case controlCharacter
    }

    package var parameter: String
    package var reason: Reason

    package init(parameter: String, reason: Reason) {
        self.parameter = parameter
        self.reason = reason
    }

    package var text: String {
        switch reason {
        case .empty: "The query parameter \(parameter) has an empty value."
        case .unknownType(let name, let nearest):
            "The query parameter \(parameter) names the event type \(name), which does not exist."
                + (nearest.map { " Did you mean \($0)?" } ?? "")
        case .badPattern(let name): "In the query parameter \(parameter), \(name) is no pattern; write run.* or *."
        case .tooMany(let limit): "The query parameter \(parameter) has more than \(limit) names."
        case .tooLong(let limit): "The query parameter \(parameter) is longer than \(limit) bytes."
        case .controlCharacter: "The query parameter \(parameter) has a control character."
        }
    }
}
