import Basics
import Configuration

/// Parses a command line by the command table. Options may stand before or after arguments; `--` ends them.
package struct CommandLineParser {
    package enum Result: Sendable {
        case run(ParsedCommand)
        case help(path: [String], spec: CommandSpec)
        case version
    }

    private var words: ArraySlice<String>
    /// Options before the name of the command, such as `ladle --socket PATH status`. They are parsed like the command's
    /// own.
    private var early: [String] = []
    private var path: [String] = []
    private var spec = CommandTable.root

    private init(_ arguments: [String]) {
        words = arguments[...]
    }

    /// - Parameter arguments: without the program's name.
    package static func parse(_ arguments: [String]) throws(UsageError) -> Result {
        var parser = CommandLineParser(arguments)
        return try parser.parse()
    }

    private mutating func parse() throws(UsageError) -> Result {
        while !spec.subcommands.isEmpty {
            guard let word = words.first else {
                guard let usual = usualSubcommand else { return .help(path: path, spec: spec) }
                enter(usual)
                continue
            }
            if word == "--help" || word == "-h" { return .help(path: path, spec: spec) }
            if path.isEmpty, word == "--version" || word == "-V" { return .version }
            if let next = spec.subcommands.first(where: { $0.name == word }) {
                words.removeFirst()
                enter(next)
            } else if let option = OptionSpec.client.first(where: { $0.name == Self.split(word).name }) {
                early.append(words.removeFirst())
                if option.value != nil, !word.contains("="), let value = words.popFirst() { early.append(value) }
            } else if let usual = usualSubcommand, word.hasPrefix("-") {
                enter(usual)
            } else {
                throw unknownCommand(word)
            }
        }
        return try parseRest()
    }

    private var usualSubcommand: CommandSpec? { spec.subcommands.first { $0.name == spec.usual } }

    private mutating func enter(_ next: CommandSpec) {
        path.append(next.name)
        spec = next
    }

    private func unknownCommand(_ word: String) -> UsageError {
        let prefix = path.isEmpty ? "" : path.joined(separator: " ") + " "
        if word.hasPrefix("-") { return unknownOption(word, spec.allOptions) }
        let nearest = NearestName.of(word, in: spec.visibleSubcommands.map(\.name))
        return UsageError(
            "unknown command \(prefix)\(word)",
            hint: nearest.map { "did you mean: ladle \(prefix)\($0)" },
            command: path
        )
    }

    private mutating func parseRest() throws(UsageError) -> Result {
        var command = ParsedCommand(path: path, spec: spec)
        let options = spec.allOptions
        words = early + words
        while let word = words.popFirst() {
            if word == "--" {
                command.arguments += words
                break
            }
            if word == "-h" || word == "--help" { return .help(path: path, spec: spec) }
            // A single dash is the usual name of standard input.
            guard word.hasPrefix("-"), word != "-" else {
                command.arguments.append(word)
                continue
            }
            let (name, inline) = Self.split(word)
            if let option = options.first(where: { $0.name == name }) {
                let value = try value(of: option, inline)
                try check(value, option.values, of: name)
                command.options[name, default: []].append(value ?? "")
            } else if spec.takesConfiguration, let flag = try setting(name, inline) {
                command.settings.append(flag)
            } else {
                throw unknownOption(name, options)
            }
        }
        try checkArguments(command.arguments)
        try checkGateway(command.settings)
        return .run(command)
    }

    private static func split(_ word: String) -> (name: String, value: String?) {
        guard let equals = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.index(after: equals)...]))
    }

    private mutating func value(of option: OptionSpec, _ inline: String?) throws(UsageError) -> String? {
        guard let placeholder = option.value else {
            guard inline == nil else { throw UsageError("\(option.name) takes no value", command: path) }
            return nil
        }
        if option.valueIsOptional { return inline }
        if let inline { return inline }
        guard let next = words.popFirst() else {
            throw UsageError("\(option.name) needs a value: \(option.name) \(placeholder)", command: path)
        }
        return next
    }

    /// `--no-NAME` and a bare `--NAME` set a switch off and on; `--NAME false` and `--NAME=false` set it off too.
    private mutating func setting(_ name: String, _ inline: String?) throws(UsageError) -> SettingsSources.Flag? {
        if name.hasPrefix("--no-"), let key = ConfigurationTable.key(flag: "--" + name.dropFirst(5)), key.kind.isBool {
            guard inline == nil else { throw UsageError("\(name) takes no value", command: path) }
            return SettingsSources.Flag(key: key, spelling: name, text: "false")
        }
        guard let key = ConfigurationTable.key(flag: name) else { return nil }
        if key.kind.isBool {
            let next = words.first.flatMap { $0 == "true" || $0 == "false" ? $0 : nil }
            if inline == nil, next != nil { words.removeFirst() }
            return SettingsSources.Flag(key: key, spelling: name, text: inline ?? next ?? "true")
        }
        guard let text = inline ?? words.popFirst() else {
            throw UsageError("\(name) needs a value: \(key.kind.noun)", command: path)
        }
        return SettingsSources.Flag(key: key, spelling: name, text: text)
    }

    private func unknownOption(_ name: String, _ options: [OptionSpec]) -> UsageError {
        var names = options.map(\.name)
        if spec.takesConfiguration {
            if let hint = SettingsSources.secretHint(name) {
                return UsageError("unknown option \(name)", hint: hint, command: path)
            }
            names += ConfigurationTable.keys.flatMap { [$0.flag, $0.shortFlag].compactMap(\.self) }
        }
        let nearest = NearestName.of(name, in: names)
        return UsageError("unknown option \(name)", hint: nearest.map { "did you mean \($0)?" }, command: path)
    }

    private func checkArguments(_ arguments: [String]) throws(UsageError) {
        let wanted = spec.arguments
        for (index, argument) in wanted.enumerated() where index >= arguments.count && !argument.isOptional {
            throw UsageError("\(argument.name.uppercased()) is missing: \(argument.summary)", command: path)
        }
        if let extra = arguments.dropFirst(wanted.count).first, wanted.last?.repeats != true {
            throw UsageError("unexpected argument \(extra)", command: path)
        }
        for (argument, value) in zip(wanted, arguments) { try check(value, argument.values, of: argument.name) }
    }

    /// The demo brings its own gateway. It wins over one of the file or the environment, but two flags contradict each other.
    private func checkGateway(_ flags: [SettingsSources.Flag]) throws(UsageError) {
        guard let demo = flags.last(where: { $0.key == .demo }), demo.text == "true",
            let gateway = flags.last(where: { $0.key == .gatewayURL })
        else { return }
        throw UsageError(
            "\(demo.spelling) and \(gateway.spelling) exclude each other: the demo brings its own gateway",
            hint: "leave out \(demo.spelling) to connect to \(gateway.text)",
            command: path
        )
    }

    private func check(_ value: String?, _ values: OptionSpec.Values, of name: String) throws(UsageError) {
        guard case .words(let words) = values, let value, !words.contains(value) else { return }
        let nearest = NearestName.of(value, in: words)
        throw UsageError(
            "\(name) must be one of \(words.joined(separator: ", ")), not \"\(value)\"",
            hint: nearest.map { "did you mean \($0)?" },
            command: path
        )
    }
}
