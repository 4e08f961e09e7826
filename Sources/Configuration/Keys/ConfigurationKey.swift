/// One setting. The names of its flag and environment variable follow from its name in the file.
package struct ConfigurationKey: Sendable, Hashable {
    package let name: String
    package let kind: ConfigurationKind
    /// The default in written form; nil for a key without one.
    package let fallback: String?
    /// One line for the reference, the manual page and `--help`.
    package private(set) var summary = ""
    /// A second, shorter name for flag and environment, without dashes.
    package let short: String?

    init(_ name: String, _ kind: ConfigurationKind, default fallback: String? = nil, short: String? = nil) {
        self.name = name
        self.kind = kind
        self.fallback = fallback
        self.short = short
    }

    func means(_ summary: String) -> ConfigurationKey {
        var copy = self
        copy.summary = summary
        return copy
    }

    /// `gateway.tokenFile` is `--gateway-token-file`.
    package var flag: String { "--" + Self.words(name).joined(separator: "-") }
    package var shortFlag: String? { short.map { "--" + $0 } }

    /// `gateway.tokenFile` is `LADLE_GATEWAY_TOKEN_FILE`.
    package var environment: String { "LADLE_" + Self.words(name).joined(separator: "_").uppercased() }
    package var shortEnvironment: String? {
        short.map { "LADLE_" + String($0.map { $0 == "-" ? "_" : $0 }).uppercased() }
    }

    /// The words of a name: dots and capitals divide.
    private static func words(_ name: String) -> [String] {
        name.split(separator: ".").flatMap { part in
            part.reduce(into: [""]) { words, character in
                if character.isUppercase { words.append("") }
                words[words.count - 1] += character.lowercased()
            }
        }
    }

    package static func == (left: ConfigurationKey, right: ConfigurationKey) -> Bool { left.name == right.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
