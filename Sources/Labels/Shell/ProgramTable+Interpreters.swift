/// Programs that run scripts.
extension ProgramTable {
    static let interpreters: [String: ProgramRule] = {
        var table: [String: ProgramRule] = [:]
        for (name, language) in languages {
            table[name] = .custom { command, depth in run(command, language, depth: depth) }
        }
        for shell in shells { table[shell] = .custom { command, depth in run(command, shellLanguage, depth: depth) } }
        table["deno"] = .custom { command, depth in
            let line = CommandLine(command.arguments, valued: ["-c", "--config", "--import-map"])
            switch line.operands.first?.text {
            case "test": return CommandLabel("Running tests", .terminal, .building)
            case "lint", "fmt": return CommandLabel("Checking code style", .terminal, .building)
            case "eval": return CommandLabel("Running a JavaScript script", .terminal, .running)
            case "run": return file(line.operands.dropFirst().first, "JavaScript")
            default: return file(line.operands.first, "JavaScript")
            }
        }
        return table
    }()

    private struct Language: Sendable {
        var name: String
        /// Options whose value is a program text.
        var inline: Set<String>
        var valued: Set<String> = []
        var module: String?
    }

    private static let shellLanguage = Language(
        name: "shell",
        inline: ["-c"],
        valued: Set(words: "-o -O --rcfile --init-file")
    )

    private static let languages: [String: Language] = [
        "python": Language(name: "Python", inline: ["-c"], valued: Set(words: "-W -X"), module: "-m"),
        "node": Language(
            name: "JavaScript",
            inline: Set(words: "-e --eval -p --print -pe"),
            valued: Set(words: "-r --require --import --loader --experimental-loader --env-file -C --conditions")
        ),
        "ruby": Language(name: "Ruby", inline: ["-e"], valued: Set(words: "-r -I -C")),
        "perl": Language(name: "Perl", inline: ["-e", "-E"], valued: Set(words: "-I -M")),
        "php": Language(name: "PHP", inline: ["-r"], valued: Set(words: "-d -c")),
        "osascript": Language(name: "AppleScript", inline: ["-e"], valued: ["-l"]),
    ]

    private static func run(_ command: ShellCommand, _ language: Language, depth: Int) -> CommandLabel? {
        let valued = language.inline.union(language.valued).union(language.module.map { [$0] } ?? [])
        // A program text takes the rest of its word, so `-ne` is `-n -e`.
        let line = CommandLine(command.arguments, valued: valued, stopsAtOperand: true)
        let isInline = line.options.contains { language.inline.contains($0.name) }
        if isInline { return script(language.name) }
        if let module = language.module, let name = line.value(module) {
            return moduleLabel(name, command, depth: depth)
        }
        if command.program == "node", line.has("--test") { return CommandLabel("Running tests", .terminal, .building) }
        if let first = line.operands.first, first.text != "-" { return file(first, language.name) }
        if line.operands.isEmpty, command.documents.isEmpty, !command.arguments.isEmpty, line.value("-s") == nil,
            command.arguments.allSatisfy({ ["-V", "-v", "--version", "-h", "--help"].contains($0.text) })
        {
            return CommandLabel("Running \(command.program)", .terminal, .running)
        }
        return script(language.name)
    }

    private static func script(_ language: String) -> CommandLabel {
        let article = "AEIOU".contains(language.prefix(1)) ? "an" : "a"
        return CommandLabel("Running \(article) \(language) script", .terminal, .running)
    }

    private static func file(_ word: ShellWord?, _ language: String) -> CommandLabel {
        guard let word, word.text != "-", let name = LabelText.name(of: word) else { return script(language) }
        return CommandLabel("Running \(name)", .terminal, .running)
    }

    private static func moduleLabel(_ module: ShellWord, _ command: ShellCommand, depth: Int) -> CommandLabel? {
        switch module.text {
        case "pytest", "unittest": return CommandLabel("Running tests", .terminal, .building)
        case "http.server": return CommandLabel("Starting a web server", .terminal, .running)
        case "venv": return CommandLabel("Creating a virtual environment", .terminal, .building)
        case "pip":
            let rest = command.arguments.drop { $0.text != "pip" }.dropFirst()
            return packages["pip"]?.label(for: ShellCommand(program: "pip", arguments: rest), depth: depth)
        default:
            guard !module.isOpaque, let name = runningName(module.text.lowercased()) else { return script("Python") }
            return CommandLabel("Running \(name)", .terminal, .running)
        }
    }
}
