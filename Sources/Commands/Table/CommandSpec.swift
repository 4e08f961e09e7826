typealias CommandHandler = @Sendable (Invocation) throws(CommandFailure) -> ExitCode

/// One command. The parser, the help, the completions and the manual page are made from this.
package struct CommandSpec: Sendable {
    package let name: String
    package let summary: String
    package var arguments: [ArgumentSpec] = []
    package var options: [OptionSpec] = []
    package var subcommands: [CommandSpec] = []
    /// The subcommands as the help shows them, where they are many.
    var groups: [CommandGroup] = []
    /// Runs the command; nil for a group, and for a command that the executable runs.
    var run: CommandHandler?
    /// The subcommand that runs if none is named.
    package var usual: String?
    /// Whether the command takes every configuration key as a flag.
    var takesConfiguration = false
    /// Whether the command talks to a running `ladle serve`, and so takes the options for finding it.
    var isClient = false
    /// Whether lists leave the command out.
    package var isHidden = false
    package var examples: [String] = []

    init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }

    /// A command that talks to a running `ladle serve`.
    static func client(
        _ name: String,
        _ summary: String,
        run: @escaping CommandHandler,
        _ arguments: [ArgumentSpec] = [],
        _ options: [OptionSpec] = []
    ) -> CommandSpec {
        CommandSpec(name, summary).with {
            $0.run = run
            $0.isClient = true
            $0.arguments = arguments
            $0.options = options
        }
    }

    func with(_ change: (inout CommandSpec) -> Void) -> CommandSpec {
        var copy = self
        change(&copy)
        return copy
    }

    /// The options of this command, including those that come with its kind.
    package var allOptions: [OptionSpec] {
        var all = options
        if isClient { all += OptionSpec.client }
        if takesConfiguration { all.append(.config) }
        return all + [.help]
    }

    var visibleSubcommands: [CommandSpec] { subcommands.filter { !$0.isHidden } }
}

struct CommandGroup: Sendable {
    let title: String
    let commands: [CommandSpec]

    init(_ title: String, _ commands: [CommandSpec]) {
        (self.title, self.commands) = (title, commands)
    }
}

package struct ArgumentSpec: Sendable {
    package let name: String
    package let summary: String
    var isOptional = false
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
        /// Values known only to the running server.
        case listed(ListedNames)
    }

    /// The name with its dashes.
    package let name: String
    package let summary: String
    /// The placeholder of the value; nil for a switch.
    package var value: String?
    /// The value is optional; if given, it follows after `=`.
    var valueIsOptional = false
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
    static let socket = OptionSpec("--socket", "PATH", "Control socket of ladle serve", values: .files)
    static let tokenFile = OptionSpec("--token-file", "FILE", "File with a token of Ladle", values: .files)
    static let pin = OptionSpec("--pin", "SHA256", "Certificate of the server, instead of the system's authorities")
    static let format = OptionSpec("--format", "TEMPLATE", "Print fields, such as {{.id}} {{.state}}")
    static let session = OptionSpec("--session", "KEY", "Session; main by default", values: .listed(.sessions))
    static let state = OptionSpec("--state", "DIR", "State directory", values: .files)
    static let demoState = OptionSpec("--demo", nil, "The state of ladle serve --demo")
    static let yes = OptionSpec("--yes", nil, "Do not ask first")
    static let idempotencyKey = OptionSpec("--idempotency-key", "KEY", "A repeat with the same key is not done again")
    static let client: [OptionSpec] = [
        json, format, socket,
        OptionSpec("--state", "DIR", "State directory with the control socket", values: .files),
        OptionSpec("--url", "URL", "Ladle on another host, such as http://HOST:18780"),
        OptionSpec(
            "--context",
            "NAME",
            "Ladle on another host, by its name in ladle context",
            values: .listed(.contexts)
        ),
        tokenFile, pin,
    ]
}
