/// One command as the table knows it; parser, help, completions and man page are all made from this.
package struct CommandSpec: Sendable {
    package let name: String
    package let summary: String
    package var arguments: [ArgumentSpec] = []
    package var options: [OptionSpec] = []
    package var subcommands: [CommandSpec] = []
    /// The subcommand that is meant when none is named.
    package var usual: String?
    /// Takes every configuration key as a flag.
    package var takesConfiguration = false
    /// Speaks to a running `ladle serve`, so it takes the options for finding it.
    package var isClient = false
    /// Not shown in lists.
    package var isHidden = false
    package var examples: [String] = []

    init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }

    func with(_ change: (inout CommandSpec) -> Void) -> CommandSpec {
        var copy = self
        change(&copy)
        return copy
    }

    /// The options of this command, those that come with its kind included.
    package var allOptions: [OptionSpec] {
        var all = options
        if isClient { all += OptionSpec.client }
        if takesConfiguration { all.append(.config) }
        return all + [.help]
    }

    package var visibleSubcommands: [CommandSpec] { subcommands.filter { !$0.isHidden } }
}

package struct ArgumentSpec: Sendable {
    package let name: String
    package let summary: String
    package var isOptional = false
    package var repeats = false
    package var values: OptionSpec.Values = .any

    init(
        _ name: String,
        _ summary: String,
        optional: Bool = false,
        repeats: Bool = false,
        values: OptionSpec.Values = .any
    ) {
        self.name = name
        self.summary = summary
        isOptional = optional
        self.repeats = repeats
        self.values = values
    }

    package var usage: String {
        let word = name.uppercased() + (repeats ? "..." : "")
        return isOptional ? "[\(word)]" : word
    }
}

package struct OptionSpec: Sendable {
    package enum Values: Sendable, Equatable {
        case any
        case files
        case words([String])
    }

    /// With its dashes.
    package let name: String
    package let summary: String
    /// The placeholder of its value; nil for a switch.
    package var value: String?
    /// The value may be left out, and then needs `=` where it is given.
    package var valueIsOptional = false
    package var repeats = false
    package var values: Values = .any

    init(
        _ name: String,
        _ value: String? = nil,
        _ summary: String,
        optionalValue: Bool = false,
        repeats: Bool = false,
        values: Values = .any
    ) {
        self.name = name
        self.value = value
        self.summary = summary
        valueIsOptional = optionalValue
        self.repeats = repeats
        self.values = values
    }

    package var usage: String {
        guard let value else { return name }
        return valueIsOptional ? "\(name)[=\(value)]" : "\(name) \(value)"
    }

    static let help = OptionSpec("--help", nil, "Show this help")
    static let json = OptionSpec("--json", nil, "Print one JSON object")
    static let config = OptionSpec("--config", "FILE", "Configuration file to read", values: .files)
    static let client: [OptionSpec] = [
        json,
        OptionSpec("--socket", "PATH", "Control socket of ladle serve", values: .files),
        OptionSpec("--state", "DIR", "State directory in which the control socket is", values: .files),
    ]
}
