import JSONBytes

/// A configuration value that can be merged, as `$include` needs.
indirect enum OpenClawConfigTree: Equatable {
    case object([String: OpenClawConfigTree])
    case array([OpenClawConfigTree])
    case string(String)
    case number(Double)
    case bool(Bool)
    case null

    init(_ value: JSONValue) {
        switch value.kind {
        case .object:
            var members: [String: OpenClawConfigTree] = [:]
            for (key, member) in value.members { members[key] = OpenClawConfigTree(member) }
            self = .object(members)
        case .array: self = .array(value.elements.map { OpenClawConfigTree($0) })
        case .string: self = .string(value.string ?? "")
        case .number: self = .number(value.double ?? 0)
        case .bool: self = .bool(value.bool ?? false)
        case .null: self = .null
        }
    }

    subscript(path: String...) -> OpenClawConfigTree? {
        var current = self
        for name in path {
            guard case .object(let members) = current, let next = members[name] else { return nil }
            current = next
        }
        return current
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    var int: Int? {
        if case .number(let value) = self { Int(exactly: value) } else { nil }
    }

    /// Merges objects member by member and joins arrays; any other value is replaced by the later one.
    func merged(with later: OpenClawConfigTree) -> OpenClawConfigTree {
        switch (self, later) {
        case (.object(let mine), .object(let theirs)):
            .object(mine.merging(theirs) { $0.merged(with: $1) })
        case (.array(let mine), .array(let theirs)): .array(mine + theirs)
        default: later
        }
    }
}
