/// One setting: its name in the file, from which the other two spellings follow.
package struct ConfigurationKey: Sendable, Hashable {
    package let name: String
    package let kind: ConfigurationKind
    /// As one would write it; nil for a key that has no value until someone sets it.
    package let fallback: String?
    /// One line for the reference, the man page and `--help`.
    package let summary: String
    /// A shorter flag beside the derived one, without its dashes; as an environment name it works as well.
    package let short: String?

    init(_ name: String, _ kind: ConfigurationKind, _ fallback: String?, _ summary: String, short: String? = nil) {
        self.name = name
        self.kind = kind
        self.fallback = fallback
        self.summary = summary
        self.short = short
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
