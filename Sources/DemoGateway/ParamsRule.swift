import JSONBytes

/// One field of a parameter object. The gateway refuses unknown fields, so a field without a rule is refused.
struct ParamsRule: Sendable {
    indirect enum Kind: Sendable {
        case string(atLeast: Int, atMost: Int?)
        case integer(from: Int64, to: Int64?)
        case bool
        case any
        case object
        case objects
        case strings(atLeast: Int, atMost: Int? = nil)
        case choice([String])
        case nullable(Kind)
        /// Sixty-four lowercase hexadecimal digits.
        case hash
        /// A date such as `2026-11-23`; only the form is checked.
        case date
        /// `UTC+2`, `UTC-9:30`.
        case utcOffset
    }

    let name: String
    let kind: Kind
    var isRequired = false
    var since = DemoRelease.march

    static func text(_ name: String, atLeast: Int = 1, atMost: Int? = nil) -> ParamsRule {
        ParamsRule(name: name, kind: .string(atLeast: atLeast, atMost: atMost))
    }
    static func number(_ name: String, from: Int64 = 0, to: Int64? = nil) -> ParamsRule {
        ParamsRule(name: name, kind: .integer(from: from, to: to))
    }
    static func date(_ name: String) -> ParamsRule { ParamsRule(name: name, kind: .date) }
    static func flag(_ name: String) -> ParamsRule { ParamsRule(name: name, kind: .bool) }
    static func open(_ name: String) -> ParamsRule { ParamsRule(name: name, kind: .any) }
    static func choice(_ name: String, _ values: [String]) -> ParamsRule {
        ParamsRule(name: name, kind: .choice(values))
    }
    static func clearable(_ name: String) -> ParamsRule {
        ParamsRule(name: name, kind: .nullable(.string(atLeast: 1, atMost: nil)))
    }

    var required: ParamsRule {
        var copy = self
        copy.isRequired = true
        return copy
    }
    func since(_ release: DemoRelease) -> ParamsRule {
        var copy = self
        copy.since = release
        return copy
    }

    /// All faults of the parameters in the gateway's words; nil if there are none.
    static func failure(
        in params: JSONValue?,
        against rules: [ParamsRule],
        release: DemoRelease,
        at path: String = ""
    ) -> String? {
        let known = rules.filter { $0.since <= release }
        // A request without params is checked as an empty object.
        guard let params else { return missing(known, release) }
        guard params.kind == .object else { return at(path) + "must be object" }
        var failures: [String] = []
        let absent = known.filter { $0.isRequired && params[$0.name] == nil }
        for rule in release.reportsAllFailures ? absent : Array(absent.prefix(1)) {
            failures.append(at(path) + "must have required property '\(rule.name)'")
        }
        for (name, value) in params.members {
            if let rule = known.first(where: { $0.name == name }) {
                for text in rule.kind.failures(of: value, release: release) {
                    failures.append("at \(path)/\(name): \(text)")
                }
            } else {
                failures.append("at \(path.isEmpty ? "root" : path): unexpected property '\(name)'")
            }
        }
        return failures.isEmpty ? nil : failures.joined(separator: "; ")
    }

    private static func at(_ path: String) -> String { path.isEmpty ? "" : "at \(path): " }

    private static func missing(_ rules: [ParamsRule], _ release: DemoRelease) -> String? {
        let names = rules.filter(\.isRequired).map(\.name)
        guard let first = names.first else { return nil }
        let shown = release.reportsAllFailures ? names : [first]
        return shown.map { "must have required property '\($0)'" }.joined(separator: "; ")
    }
}

extension ParamsRule.Kind {
    /// The March validator reports a failed alternative twice: the branch and the union.
    func failures(of value: JSONValue, release: DemoRelease) -> [String] {
        guard let text = failure(of: value, release: release) else { return [] }
        guard case .choice = self, release == .march, value.string != nil else { return [text] }
        return ["must be equal to constant", "must match a schema in anyOf"]
    }

    private func failure(of value: JSONValue, release: DemoRelease) -> String? {
        let not = release == .march ? "must NOT" : "must not"
        switch self {
        case .any: return nil
        case .string(let low, let high):
            guard let text = value.string else { return "must be string" }
            if text.unicodeScalars.count < low { return "\(not) have fewer than \(low) characters" }
            if let high, text.utf16.count > high { return "\(not) have more than \(high) characters" }
            return nil
        case .integer(let low, let high):
            guard let number = value.int else { return "must be integer" }
            if number < low { return "must be >= \(low)" }
            if let high, number > high { return "must be <= \(high)" }
            return nil
        case .bool: return value.bool == nil ? "must be boolean" : nil
        case .object: return value.kind == .object ? nil : "must be object"
        case .objects:
            guard value.kind == .array else { return "must be array" }
            return value.elements.allSatisfy { $0.kind == .object } ? nil : "must be object"
        case .strings(let low, let high):
            guard value.kind == .array else { return "must be array" }
            if value.count < low { return "\(not) have fewer than \(low) items" }
            if let high, value.count > high { return "\(not) have more than \(high) items" }
            return value.elements.allSatisfy { $0.string?.isEmpty == false } ? nil : "must be string"
        case .choice(let values):
            guard let text = value.string else { return "must be string" }
            if values.contains(text) { return nil }
            return "must be equal to one of the allowed values"
        case .nullable(let kind):
            return value.isNull ? nil : kind.failure(of: value, release: release)
        case .hash:
            let isHash = value.string.map { text in
                text.utf8.count == 64
                    && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
            }
            return isHash == true ? nil : "must match pattern \"^[a-f0-9]{64}$\""
        case .date:
            let isDate = value.string.map { text in
                let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
                return parts.map(\.count) == [4, 2, 2] && parts.joined().allSatisfy { (0x30...0x39).contains($0) }
            }
            return isDate == true ? nil : "must match pattern \"^\\d{4}-\\d{2}-\\d{2}$\""
        case .utcOffset:
            return value.string.map(Self.isOffset) == true
                ? nil : "must match pattern \"^UTC[+-]\\d{1,2}(?::[0-5]\\d)?$\""
        }
    }

    private static func isOffset(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.starts(with: "UTC+".utf8) || bytes.starts(with: "UTC-".utf8) else { return false }
        let parts = bytes.dropFirst(4).split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.joined().allSatisfy({ (0x30...0x39).contains($0) }) else {
            return false
        }
        return (1...2).contains(parts[0].count)
            && (parts.count == 1 || parts[1].count == 2 && parts[1].first.map { $0 < 0x36 } == true)
    }
}
